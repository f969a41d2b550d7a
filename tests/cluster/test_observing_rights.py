"""Of what we may not see we say so, see all the rest, and look again."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from structlog.testing import capture_logs

from rescheduler.clock import SystemClock
from rescheduler.observe import sources
from testbed.api import Object
from testbed.builders import deployment
from testbed.faultproxy import Match, Request, fail
from testbed.world import World
from tests.cluster.observing import (
    EVERYTHING,
    SOME,
    converges,
    eyes,
    is_blind,
    names_of,
    seen,
    told,
)
from tests.scenarios.deploying import deploy_web

HIDDEN = "replicasets"


class ImpatientClock(SystemClock):
    """To whom a minute is a second: refusals are not asked about more often."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(min(seconds, 1.0))


def rules_without(*hidden: str) -> list[Object]:
    """To see everything that we observe, but for these."""
    return [
        {
            "apiGroups": [each.group_version.rpartition("/")[0]],
            "resources": [each.plural],
            "verbs": ["list", "watch"],
        }
        for each in sources.ALL
        if each.plural not in hidden
    ]


@asynccontextmanager
async def half_blind(world: World, *hidden: str) -> AsyncIterator[None]:
    """From here on whoever comes with the world's token may see everything but this."""
    account = {"kind": "ServiceAccount", "metadata": {"name": "half-blind"}}
    await world.create({"apiVersion": "v1", **account})
    role = {"kind": "ClusterRole", "name": world.name}
    subject = {"kind": "ServiceAccount", "name": "half-blind", "namespace": world.name}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": world.name}}
    await grant(world, rules_without(*hidden))
    group = {"apiGroup": "rbac.authorization.k8s.io"}
    binding = {**head, "kind": "ClusterRoleBinding", "roleRef": {**group, **role}}
    await world.api.create({**binding, "subjects": [subject]})
    path = f"/api/v1/namespaces/{world.name}/serviceaccounts/half-blind/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    mighty = world.token
    world.token = (await world.api.request("POST", path, body=body))["status"]["token"]
    try:
        await world.wait("the rights are in force", lambda: may_watch(world, "pods"))
        yield
    finally:
        world.token = mighty
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            await world.api.delete(kind, None, world.name)


async def grant(world: World, rules: Iterable[Object]) -> None:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": world.name}}
    await world.api.apply({**head, "kind": "ClusterRole", "rules": list(rules)})


async def may_watch(world: World, resource: str) -> bool:
    """Rights are in force some time after they are granted."""
    group = sources.BY_NAME[resource].group_version.rpartition("/")[0]
    user = f"system:serviceaccount:{world.name}:half-blind"
    attributes = {"verb": "watch", "group": group, "resource": resource}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = await world.api.request("POST", path, body=body)
    return bool(answer["status"]["allowed"])


async def may_not_watch(world: World, resource: str) -> bool:
    return not await may_watch(world, resource)


async def test_what_is_forbidden_is_told_and_seen_as_soon_as_it_is_allowed(world: World) -> None:
    await world.add_nodes(1)
    await world.create(deployment("web", replicas=2))
    await world.wait("web runs", lambda: world.is_complete("web"))
    async with (
        eyes(world, EVERYTHING) as other,
        half_blind(world, HIDDEN),
        world.faults() as proxy,
        eyes(world, EVERYTHING, clock=ImpatientClock()) as observer,
    ):
        with capture_logs() as lines:
            await observer.settled()
            [gap] = observer.gaps()
            assert (gap.source, gap.forbidden) == (HIDDEN, True)
            assert "no permission" in gap.reason
            assert "half-blind" in gap.reason

            async def sees_all_but_them() -> bool:
                all_ = seen(world, other.snapshot())
                rest = [each for each in all_ if each["kind"] != "ReplicaSet"]
                return len(all_) > len(rest) and seen(world, observer.snapshot()) == rest

            await world.wait("the observer sees all the rest", sees_all_but_them)
            assert [each.source for each in observer.gaps()] == [HIDDEN]
            await proxy.wait_until(
                lambda: [each.resource for each in proxy.requests].count(HIDDEN) > 2
            )
        # However often we ask.
        [line] = told(lines, "watch refused")
        assert line["resource"] == HIDDEN
        await grant(world, rules_without())
        await world.wait("the right is in force", lambda: may_watch(world, HIDDEN))
        found = await converges(world, observer, EVERYTHING)
        assert names_of(found, "ReplicaSet")


async def test_rights_that_are_taken_away_are_noticed_and_nothing_old_is_believed(
    world: World,
) -> None:
    """The server lets a watch live on: it is the next one that is refused."""
    await world.add_nodes(1)
    await world.create(deployment("web", replicas=1))
    await world.wait("web runs", lambda: world.is_complete("web"))
    async with half_blind(world), world.faults() as proxy, eyes(world) as observer:
        await observer.settled()
        assert names_of(seen(world, observer.snapshot()), "ReplicaSet")
        await grant(world, rules_without(HIDDEN))
        await world.wait("the right is gone", lambda: may_not_watch(world, HIDDEN))
        proxy.cut_all()
        gap = await is_blind(world, observer, HIDDEN, "no permission")
        assert gap.forbidden
        assert names_of(seen(world, observer.snapshot()), "ReplicaSet") == []
        assert names_of(seen(world, observer.snapshot()), "Deployment") == ["web"]


async def test_a_kind_that_every_server_has_is_not_taken_for_absent(world: World) -> None:
    """Somebody between may answer so, and what is not there hinders no move."""

    def is_of_them(request: Request) -> bool:
        return request.resource == HIDDEN

    async with world.faults() as proxy:
        absent = proxy.on(Match(predicate=is_of_them), fail(404, "404 page not found\n"))
        async with eyes(world, SOME, clock=ImpatientClock()) as observer:
            await observer.settled()
            [gap] = observer.gaps()
            assert (gap.source, gap.forbidden) == (HIDDEN, False)
            assert "404 page not found" in gap.reason
            absent.remove()
            await converges(world, observer)


async def test_a_strategy_is_skipped_when_it_may_not_see_what_it_needs_and_writes_nothing(
    world: World,
) -> None:
    await deploy_web(world, 3)
    async with half_blind(world, HIDDEN), world.faults() as proxy:
        run = await world.run()
        assert proxy.writes == []
    assert run.code == 0, run
    skipped = {line["strategy"]: line["because"] for line in run.said("strategy skipped")}
    assert skipped.keys() == {"LoadBalancing", "ResourceOptimization"}
    assert all(HIDDEN in each and "permission" in each for each in skipped.values())
    assert "cannot be seen" in run.summary
