"""A process that writes into a pod as long as it leads: to be killed and stopped by tests.

It does not look whether it has lost the lease: only the fence keeps it from writing. Its words are
lines of JSON.
"""

import asyncio
import json
import sys
from dataclasses import dataclass, field
from typing import Any

from rescheduler import kube, logs
from rescheduler.clock import SystemClock
from rescheduler.config import LeaderElection
from rescheduler.kube import errors
from rescheduler.leading import Fenced, Leadership, leading
from rescheduler.wire import PODS

WRITER = "test/writer"
NUMBER = "test/number"


def say(**words: Any) -> None:  # noqa: ANN401
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


@dataclass
class Writing:
    namespace: str
    pod: str
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("written", "conflicts", "unknown"), 0)
    )

    async def until_refused(self, api: kube.KubeApi, leadership: Leadership) -> None:
        """Each on what it has just read, as a record is written."""
        fenced = Fenced(api, leadership)
        term = leadership.term
        while True:
            found = (await fenced.get(PODS, self.namespace, self.pod))["metadata"]
            beat = str(self.counts["written"])
            notes = {WRITER: term.holder, NUMBER: str(term.number), "test/beat": beat}
            change = {
                "metadata": {"annotations": notes, "resourceVersion": found["resourceVersion"]}
            }
            try:
                await fenced.patch(PODS, self.namespace, self.pod, uid=found["uid"], change=change)
            except errors.Conflict:
                self.counts["conflicts"] += 1
            except errors.Unavailable:
                # Under way when the lease lapsed, and so given up.
                self.counts["unknown"] += 1
            except errors.NotLeading:
                return
            else:
                self.counts["written"] += 1


async def run(kubeconfig: str, namespace: str, pod: str, settings: LeaderElection) -> int:
    def connect() -> Any:  # noqa: ANN401
        return kube.connect(kubeconfig)

    writing = Writing(namespace, pod)
    async with connect() as api, leading(settings, connect, SystemClock()) as candidate:
        say(identity=candidate.identity)
        leadership = await candidate.acquired()
        say(acquired=leadership.term.number)
        await writing.until_refused(api, leadership)
        say(refused=True, because=await leadership.lost(), **writing.counts)
    return 1


if __name__ == "__main__":
    logs.set_up(form="json")
    _, kubeconfig, namespace, pod, election = sys.argv
    settings = LeaderElection(**json.loads(election))
    raise SystemExit(asyncio.run(run(kubeconfig, namespace, pod, settings)))
