"""Dry runs before the first copy of a template: what they ask, and how often."""

import asyncio
import copy
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from rescheduler.clock import SystemClock
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding.actions import Outcome, Rehearse
from rescheduler.migrate.worker import rehearsals
from rescheduler.migrate.worker.rehearsals import Rehearsals
from rescheduler.model.podmigration import Reason

Object = dict[str, Any]
DENIED = "admission webhook denied the request: no"


class Clock(SystemClock):
    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


class Server:
    """Answers as the test's admission does."""

    def __init__(self, admit: Callable[[Object], Object]) -> None:
        self.admit = admit
        self.asked: list[Object] = []

    async def create(self, _: object, __: str, body: Object, *, dry_run: bool = False) -> Object:
        assert dry_run
        self.asked.append(body)
        await asyncio.sleep(0)
        return self.admit(copy.deepcopy(body))


def pod(*, of_owner: bool) -> Object:
    reference = {"name": "web-1", "controller": True} if of_owner else {"name": "web-1"}
    metadata = {"namespace": "shop", "ownerReferences": [reference]}
    return {"metadata": metadata, "spec": {"containers": [{"name": "app"}]}}


def is_owned(body: Object) -> bool:
    return "controller" in body["metadata"]["ownerReferences"][0]


def copy_of(answer: Mapping[str, Any] | None) -> Object:
    made = pod(of_owner=False)
    return {**made, "spec": copy.deepcopy((answer or made)["spec"])}


def action(template: str = "rs/1") -> Rehearse:
    return Rehearse(template=template, as_owner=pod(of_owner=True), copy_of=copy_of)


def with_sidecar(body: Object) -> Object:
    body["spec"]["containers"].append({"name": "mesh"})
    return body


def make(admit: Callable[[Object], Object]) -> tuple[Server, Clock, Rehearsals]:
    server, clock = Server(admit), Clock()
    return server, clock, Rehearsals(cast("KubeApi", server), clock)


def containers(found: Mapping[str, Any] | None) -> list[str]:
    return [each["name"] for each in (found or pod(of_owner=True))["spec"]["containers"]]


async def test_many_ask_once() -> None:
    server, _, shared = make(lambda body: with_sidecar(body) if is_owned(body) else body)
    found = await asyncio.gather(*(shared.ask(action(), "shop") for _ in range(40)))
    assert len(server.asked) == 3
    assert containers(found[0].answer) == ["app", "mesh"]
    assert all(each is found[0] for each in found)


async def test_another_template_is_asked_for_by_itself_and_the_same_one_anew_after_a_while() -> (
    None
):
    server, clock, shared = make(lambda body: body)
    await shared.ask(action("rs/1"), "shop")
    await shared.ask(action("rs/2"), "shop")
    assert len(server.asked) == 6
    clock.seconds += rehearsals._BELIEVED_SECONDS - 1  # noqa: SLF001
    await shared.ask(action("rs/1"), "shop")
    assert len(server.asked) == 6
    clock.seconds += 1
    await shared.ask(action("rs/1"), "shop")
    assert len(server.asked) == 9


async def test_no_more_are_remembered_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsals, "_MOST", 2)
    server, _, shared = make(lambda body: body)
    for template in ("a", "b", "c", "a"):
        await shared.ask(action(template), "shop")
    assert len(server.asked) == 12


async def test_what_everybody_gets_comes_once_by_a_copy_of_the_template() -> None:
    def admit(body: Object) -> Object:
        made = with_sidecar(body)
        if len(made["spec"]["containers"]) > 2:
            raise errors.Invalid("Duplicate value: mesh", status=422)
        return made

    _, _, shared = make(admit)
    found = await shared.ask(action(), "shop")
    assert found.is_given_twice
    assert found.refusal is None
    assert containers(found.answer) == ["app", "mesh"]


async def test_another_answer_each_time_is_no_answer() -> None:
    luck = iter(range(9))

    def admit(body: Object) -> Object:
        body["metadata"]["annotations"] = {"luck": str(next(luck))}
        return body

    _, _, shared = make(admit)
    found = await shared.ask(action(), "shop")
    assert (found.answer, found.refusal) == (None, None)


@pytest.mark.parametrize("problem", [errors.Forbidden(DENIED), errors.Invalid(DENIED, status=422)])
async def test_a_copy_that_is_refused_is_remembered_with_the_words(
    problem: errors.KubeError,
) -> None:
    def admit(body: Object) -> Object:
        if not is_owned(body):
            raise problem
        return body

    server, clock, shared = make(admit)
    found = await shared.ask(action(), "shop")
    assert found.refusal
    assert found.refusal.reason is Reason.COPY_REFUSED
    assert DENIED in found.refusal.message
    asked = len(server.asked)
    clock.seconds += rehearsals._REFUSED_SECONDS - 1  # noqa: SLF001
    assert (await shared.ask(action(), "shop")).refusal == found.refusal
    assert len(server.asked) == asked


@pytest.mark.parametrize(
    "problem",
    [errors.Forbidden(DENIED), errors.Invalid("does not support dry run", status=400)],
)
async def test_where_nobody_may_ask_nothing_is_known(problem: errors.KubeError) -> None:
    """Not even that a copy is refused: it may be the dry run that is."""

    def admit(_: Object) -> Object:
        raise problem

    server, _, shared = make(admit)
    found = await shared.ask(action(), "shop")
    assert (found.answer, found.refusal) == (None, None)
    assert len(server.asked) == 1


async def test_a_full_quota_is_told_to_all_and_not_remembered() -> None:
    def admit(_: Object) -> Object:
        raise errors.Forbidden("pods is forbidden: exceeded quota: small")

    server, _, shared = make(admit)
    asked = (shared.ask(action(), "shop") for _ in range(3))
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(each, errors.Forbidden) for each in found)
    server.admit = lambda body: body
    assert (await shared.ask(action(), "shop")).answer is not None


async def test_a_copy_that_turned_out_wrong_is_the_last_for_a_while() -> None:
    _, clock, shared = make(lambda body: body)
    found = await shared.ask(action(), "shop")
    differs = Outcome(moved=False, reason=Reason.COPY_DIFFERS, message="it lacks a container")
    shared.forbid(found, differs, "shop/web-1")
    again = await shared.ask(action(), "shop")
    assert again.refusal
    assert again.refusal.reason is Reason.COPY_DIFFERS
    clock.seconds += rehearsals._REFUSED_SECONDS  # noqa: SLF001
    assert (await shared.ask(action(), "shop")).refusal is None


async def test_one_who_leaves_takes_the_answer_from_nobody() -> None:
    _, _, shared = make(lambda body: body)
    first = asyncio.create_task(shared.ask(action(), "shop"))
    second = asyncio.create_task(shared.ask(action(), "shop"))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).answer is not None


SILENT = 'Internal error occurred: failed calling webhook "inject.example.com": timed out'


async def test_a_webhook_that_does_not_answer_dry_runs_is_no_outage_of_the_api_server() -> None:
    """The copy is made of the template, and held against its siblings."""

    def admit(_: Object) -> Object:
        raise errors.Unavailable(SILENT, status=500)

    known = await Rehearsals(cast(KubeApi, Server(admit)), Clock()).ask(action(), "shop")
    assert (known.answer, known.refusal) == (None, None)


async def test_an_api_server_that_does_not_answer_is_asked_again() -> None:
    def admit(_: Object) -> Object:
        raise errors.Unavailable("no answer")

    with pytest.raises(errors.Unavailable):
        await Rehearsals(cast(KubeApi, Server(admit)), Clock()).ask(action(), "shop")
