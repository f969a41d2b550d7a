"""Events are written beside all else: bounded, and whatever becomes of them."""

from typing import Any, cast

from rescheduler.controller.events.happenings import Happening, Regarding, of_refusal
from rescheduler.controller.events.recorder import Recorder
from rescheduler.embedded.virtual_time import VirtualClock, run
from rescheduler.kube import KubeApi, errors


class Server:
    """As far as Events need one."""

    def __init__(self, *problems: errors.KubeError) -> None:
        self.problems = list(problems)
        self.made: list[dict[str, Any]] = []

    async def create(self, _: object, __: str, body: dict[str, Any]) -> dict[str, Any]:
        if self.problems:
            raise self.problems.pop(0)
        self.made.append(body)
        return body


def happening(number: int) -> Happening:
    pod = Regarding(
        api_version="v1", kind="Pod", namespace="shop", name=f"web-{number}", uid=str(number)
    )
    return of_refusal(pod, "why")


def written(server: Server, *happenings: Happening) -> list[str]:
    async def write() -> None:
        recorder = Recorder(cast("KubeApi", server), VirtualClock())
        recorder.tell(happenings)
        recorder.end()
        await recorder.run()

    run(write())
    return [each["involvedObject"]["name"] for each in server.made]


def test_what_comes_too_fast_is_left_out() -> None:
    assert len(written(Server(), *(happening(each) for each in range(2000)))) == 500


def test_one_that_is_refused_is_lost_and_the_next_is_written() -> None:
    for problem in (
        errors.Forbidden("no right"),
        errors.Unavailable("away"),
        errors.NotLeading(""),
    ):
        assert written(Server(problem), happening(1), happening(2)) == ["web-2"]


def test_a_long_message_is_cut_and_stays_text() -> None:
    pod = happening(1).regarding
    for words in ("x" * 5000, "ü" * 5000):
        message = of_refusal(pod, words).message
        assert len(message.encode()) <= 1000
        assert message.endswith("...")
