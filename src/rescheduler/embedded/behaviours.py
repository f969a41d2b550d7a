"""What simulated pods and nodes do, as their annotations, labels and images say.

The same words as those of testbed/stages.yaml, under another prefix, and one more:
`completes-after`, so long after it is Ready, a pod that is not restarted ends well.
"""

import random
from typing import Final

from rescheduler.kube import Object
from rescheduler.model.objects import annotations, labels

PREFIX: Final = "simulation.rescheduler.io/"

READY_SECONDS: Final = 0.3
EXIT_SECONDS: Final = 0.3
_GRACE_SECONDS: Final = 30.0
_UNITS: Final = (("ms", 0.001), ("m", 60.0), ("h", 3600.0), ("s", 1.0))
"""In this order: `ms` ends as `s` does, and `m` does not."""


def seconds(text: str) -> float:
    """`300ms`, `2s`, `1.5m`; a number alone is in seconds."""
    for unit, size in _UNITS:
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * size
    return float(text)


class Behaviours:
    """`start_seconds`: from where the start-up time of a pod is drawn that says nothing of it."""

    def __init__(
        self,
        chance: random.Random,
        prefix: str = PREFIX,
        start_seconds: tuple[float, float] | None = None,
    ) -> None:
        self._chance = chance
        self._prefix = prefix
        self._start_seconds = start_seconds or (READY_SECONDS, READY_SECONDS)

    # ------------------------------------------------------------------ nodes

    def is_hung(self, node: Object) -> bool:
        """Its kubelet begins nothing more and is not heard of."""
        return labels(node).get(self._prefix + "kubelet") == "hung"

    def is_down(self, node: Object) -> bool:
        return self._prefix + "down" in annotations(node)

    # ------------------------------------------------------------------ pods

    def start_seconds(self, pod: Object) -> float:
        given = self._given(pod, "ready-after")
        return seconds(given) if given else self._chance.uniform(*self._start_seconds)

    def is_never_ready(self, pod: Object) -> bool:
        return self._prefix + "never-ready" in annotations(pod)

    def crashes(self, pod: Object) -> bool:
        return self._prefix + "crashes" in annotations(pod)

    def flap_seconds(self, pod: Object) -> float | None:
        given = self._given(pod, "flap-after")
        return seconds(given) if given else None

    def run_seconds(self, pod: Object) -> float | None:
        """None: for ever."""
        given = self._given(pod, "completes-after")
        is_restarted = (pod["spec"].get("restartPolicy") or "Always") == "Always"
        return seconds(given) if given and not is_restarted else None

    def exit_seconds(self, pod: Object) -> float:
        """From SIGTERM until it has ended, or was killed."""
        grace = pod["metadata"].get("deletionGracePeriodSeconds")
        grace = _GRACE_SECONDS if grace is None else float(grace)
        if self._given(pod, "ignores-sigterm") == "true":
            return grace
        return min(float(self._given(pod, "exit-after-seconds") or EXIT_SECONDS), grace)

    def _given(self, pod: Object, name: str) -> str:
        return annotations(pod).get(self._prefix + name) or ""


def lacks_its_image(pod: Object) -> bool:
    return any(image.startswith("registry.invalid/") for image in _images(pod))


def lacks_its_config(pod: Object) -> bool:
    return any(image.endswith("/lacks-config") for image in _images(pod))


def _images(pod: Object) -> list[str]:
    return [each.get("image") or "" for each in pod["spec"]["containers"]]
