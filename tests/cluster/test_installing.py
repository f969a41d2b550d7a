"""`kubectl apply -k` installs it, kubectl shows it, and `kubectl delete -k` leaves nothing."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rescheduler.config.migration import Migration, TemporaryBudget
from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.facts import Owner
from rescheduler.model import podmigration
from rescheduler.model.moves import Move, Way
from rescheduler.model.podmigration import Phase, Reason, Step
from testbed.api import ApiError, Object, path_of
from testbed.instance import Instance, OwnedInstance
from testbed.world import World
from tests.cluster.kubectl import (
    BUDGET,
    CRD,
    DEPLOYED,
    EVERYTHING,
    LOOKING,
    MOVING,
    POLICY,
    READ_ONLY,
    WAIT_SECONDS,
    WITHOUT_DEPLOYMENT,
    WITHOUT_POLICY,
    Kubectl,
    until,
)


def migration(name: str = "web-0-1", **spec: Any) -> Object:  # noqa: ANN401
    """As a person would write it; what is None is left out."""
    given = {"pod": {"name": "web-0", "uid": "1f3c"}, "source": "a", "target": "b", **spec}
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "PodMigration",
        "metadata": {"name": name},
        "spec": {key: value for key, value in given.items() if value is not None},
    }


# ------------------------------------------------------------------ install and uninstall


@pytest.fixture(scope="module")
def bare_instance() -> Iterator[Instance]:
    with OwnedInstance(bare=True) as owned:
        yield owned.instance


async def test_where_nothing_is_installed_one_can_look_all_the_same(
    bare_instance: Instance, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "rescheduler", "snapshot", "show"]
    shown = await asyncio.to_thread(
        subprocess.run,
        [*command, "--kubeconfig", str(bare_instance.admin_kubeconfig)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        timeout=WAIT_SECONDS,
    )
    assert shown.returncode == 0, shown.stderr
    assert "Not seen" not in shown.stdout
    assert "podmigrations" not in shown.stdout + shown.stderr


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        (EVERYTHING, LOOKING | MOVING | POLICY | DEPLOYED | {BUDGET}),
        (WITHOUT_POLICY, LOOKING | MOVING | DEPLOYED | {BUDGET}),
        (WITHOUT_DEPLOYMENT, LOOKING | MOVING | POLICY),
        (READ_ONLY, LOOKING | DEPLOYED),
    ],
    ids=["everything", "without the policy", "without the deployment", "read-only"],
)
async def test_installed_and_gone_without_a_trace(
    bare_instance: Instance, kubectl: Path, tmp_path: Path, folder: Path, expected: set[str]
) -> None:
    kube = Kubectl(kubectl, bare_instance, tmp_path)
    before = await kube.inventory()

    printed = await kube("apply", "-k", str(folder))
    assert set(printed.splitlines()) == {f"{each} created" for each in expected}
    again = await kube("apply", "-k", str(folder))
    # Of budgets kubectl always says so, as it replaces their selectors; they stay as they were.
    unchanged = again.replace(f"{BUDGET} configured", f"{BUDGET} unchanged")
    assert set(unchanged.splitlines()) == {f"{each} unchanged" for each in expected}
    await kube("wait", "--for=condition=Established", CRD, f"--timeout={WAIT_SECONDS:.0f}s")
    await kube("create", "-f", "-", sent=migration())
    by_itself = {
        "podmigration.rescheduler.io/web-0-1",
        "apiservice.apiregistration.k8s.io/v1alpha1.rescheduler.io",
    }
    await until(kube, before | expected | by_itself)

    await kube("delete", "-k", str(folder))
    await until(kube, before)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("DryRun", LOOKING | DEPLOYED),
        ("Auto", LOOKING | MOVING | POLICY | DEPLOYED | {BUDGET}),
    ],
)
async def test_what_the_program_prints_is_installed_and_gone_likewise(
    bare_instance: Instance, kubectl: Path, tmp_path: Path, mode: str, expected: set[str]
) -> None:
    """`rescheduler install --print | kubectl apply -f -`."""
    kube = Kubectl(kubectl, bare_instance, tmp_path)
    before = await kube.inventory()
    command = [sys.executable, "-m", "rescheduler", "install", "--print", "--mode", mode]
    printed = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True)
    file = tmp_path / "printed.yaml"
    file.write_bytes(printed.stdout)
    await kube("apply", "-f", str(file))
    by_itself = {"apiservice.apiregistration.k8s.io/v1alpha1.rescheduler.io"}
    await until(kube, before | expected | by_itself)
    await kube("delete", "-f", str(file))
    await until(kube, before)


async def test_the_second_scheduler_is_installed_and_gone_likewise(
    bare_instance: Instance, kubectl: Path, tmp_path: Path
) -> None:
    kube = Kubectl(kubectl, bare_instance, tmp_path)
    before = await kube.inventory()
    file = str(EVERYTHING / "scheduler.yaml")
    printed = (await kube("apply", "-f", file)).splitlines()
    assert all(line.endswith(" created") for line in printed)
    assert all("/rescheduler-second-scheduler" in line for line in printed)
    again = (await kube("apply", "-f", file)).splitlines()
    assert all(line.endswith(" unchanged") for line in again)
    await kube("delete", "-f", file)
    await until(kube, before)


# ------------------------------------------------------------------ what kubectl shows


@pytest.fixture
def kube(world: World, kubectl: Path) -> Kubectl:
    return Kubectl(kubectl, world.instance, world.folder)


async def test_what_kubectl_shows_of_a_migration(world: World, kube: Kubectl) -> None:
    own = ("-n", world.name)
    asked = migration(strategy="LoadBalancing", reason="a is full")
    await kube("create", *own, "-f", "-", sent=asked)
    status = {
        "phase": "InProgress",
        "step": "WaitReady",
        "way": "Surge",
        "reason": "NotNow",
        "message": "not yet Ready",
        "newPod": {"name": "web-x", "uid": "2", "node": "b"},
    }
    await _write_status(world, "web-0-1", status)

    head, row = (await kube("get", "pmig", *own)).splitlines()
    assert head.split() == ["NAME", "POD", "FROM", "TO", "WAY", "PHASE", "STEP", "REASON", "AGE"]
    shown = ["web-0-1", "web-0", "a", "b", "Surge", "InProgress", "WaitReady", "NotNow"]
    assert row.split()[:-1] == shown
    # By its category, and with everything that fits on a wide screen.
    head, row = (await kube("get", "rescheduler", *own, "-o", "wide")).splitlines()
    more = ["STRATEGY", "WHY", "NEW-POD", "MESSAGE", "AGE"]
    assert head.split()[-len(more) :] == more
    cells = {name: row[head.index(name) :] for name in more}
    assert cells["STRATEGY"].startswith("LoadBalancing ")
    assert cells["WHY"].startswith("a is full ")
    assert cells["NEW-POD"].startswith("web-x ")
    assert cells["MESSAGE"].startswith("not yet Ready ")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("status.phase=Failed", ["podmigration.rescheduler.io/failed"]),
        ("status.phase!=Failed", ["podmigration.rescheduler.io/asked"]),
        ("spec.pod.uid=1f3c", ["podmigration.rescheduler.io/asked"]),
    ],
)
async def test_selected_by_phase_and_pod(
    world: World, kube: Kubectl, selector: str, found: list[str]
) -> None:
    await world.create(migration("asked"))
    await world.create(migration("failed", pod={"name": "web-0", "uid": "other"}))
    await _write_status(world, "failed", {"phase": "Failed"})
    printed = await kube(
        "get", "pmig", "-n", world.name, "--field-selector", selector, "-o", "name"
    )
    assert printed.split() == found


async def test_a_person_has_to_say_little(world: World, kube: Kubectl) -> None:
    printed = await kube(
        "create", "-n", world.name, "-f", "-", "-o", "json", "--dry-run=server", sent=migration()
    )
    assert json.loads(printed)["spec"] == {
        **migration()["spec"],
        "attempt": 1,
        "mayRecreate": False,
    }


async def test_every_field_is_explained(kube: Kubectl) -> None:
    """A field that the schema does not know would be lost, silently."""
    printed = await kube("explain", "pmig", "--recursive")
    fields = {line.split("\t")[0].strip() for line in printed.splitlines() if "\t<" in line}
    assert fields >= {"settings", "temporaryBudget", "siblings", "fence", "lastTransitionTime"}


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"pod": {"name": "web-0"}}, "kubectl get pod web-0 -o jsonpath={.metadata.uid}"),
        ({"pod": {"name": "web-0", "uid": ""}}, "spec.pod.uid: Required value"),
        ({"pod": {"uid": "1f3c"}}, "spec.pod.name: Required value"),
        ({"pod": None}, "spec.pod: Required value"),
        ({"source": None}, "spec.source: Required value"),
        ({"target": "a"}, "to leave the node a, so the target must be another node"),
        ({"way": "Fly"}, 'supported values: "Surge", "Recreate", "Copy"'),
        ({"attempt": 0}, "spec.attempt in body should be greater than or equal to 1"),
        ({"reason": "x" * 4097}, "spec.reason: Too long: may not be more than 4096 bytes"),
        ({"group": {"id": "g"}}, "spec.group.size: Required value"),
        (
            {"settings": {"readyTimeout": "5 minutes"}},
            'readyTimeout: Invalid value: "5 minutes": must be a duration such as 30s, 5m or 1h30m',
        ),
        ({"settings": {"fallback": "Maybe"}}, 'supported values: "Evict", "Never"'),
        ({"tagret": "c"}, 'unknown field "spec.tagret"'),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
async def test_refused_with_a_word_that_helps(
    world: World, kube: Kubectl, spec: dict[str, Any], words: str
) -> None:
    done = await kube.run("create", "-n", world.name, "-f", "-", sent=migration(**spec))
    assert done.returncode == 1
    assert words in done.stderr
    assert await world.records() == []


async def test_a_name_that_fits_no_label_is_refused(world: World, kube: Kubectl) -> None:
    own = ("-n", world.name)
    done = await kube.run("create", *own, "-f", "-", sent=migration("x" * 64))
    assert done.returncode == 1
    assert "metadata.name: may have 63 characters at most, as what is made" in done.stderr
    assert await world.records() == []
    await kube("create", *own, "-f", "-", sent=migration("x" * 63))


@pytest.mark.parametrize(
    "change",
    [{"target": "c"}, {"target": None, "source": "c"}, {"reason": "other"}, {"attempt": 2}],
)
async def test_the_spec_cannot_be_changed(
    world: World, kube: Kubectl, change: dict[str, Any]
) -> None:
    await world.create(migration())
    patch = json.dumps({"spec": change})
    done = await kube.run("patch", "pmig", "web-0-1", "-n", world.name, "--type=merge", "-p", patch)
    assert done.returncode == 1
    assert "the spec of a migration cannot be changed" in done.stderr
    # Labels can: they are how it is steered.
    await kube("label", "pmig", "web-0-1", "-n", world.name, "rescheduler.io/steering=true")


# ------------------------------------------------------------------ the status


async def test_the_status_is_written_by_its_own_door_only(world: World) -> None:
    made = await world.api.create(
        {
            **migration(),
            "metadata": {"name": "web-0-1", "namespace": world.name},
            "status": {"phase": "Completed"},
        }
    )
    assert made["status"] == {"phase": "Pending"}
    change = {"status": {"phase": "Completed"}}
    patched = await world.api.patch("PodMigration", world.name, "web-0-1", change)
    assert patched["status"] == {"phase": "Pending"}
    written = await _write_status(world, "web-0-1", {"phase": "InProgress"}, spec={"target": "c"})
    assert written["status"] == {"phase": "InProgress"}
    assert written["spec"]["target"] == "b"


@pytest.mark.parametrize(
    ("status", "field"),
    [
        ({"phase": "Doing"}, "status.phase"),
        ({"step": "Jump"}, "status.step"),
        ({"way": "Fly"}, "status.way"),
        ({"reason": "not one word"}, "status.reason"),
        ({"startTime": "yesterday"}, "status.startTime"),
        ({"conditions": [{"type": "Completed", "status": "Yes"}]}, "status.conditions[0].status"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
async def test_a_status_that_nobody_could_read(
    world: World, status: dict[str, Any], field: str
) -> None:
    await world.create(migration())
    with pytest.raises(ApiError) as refused:
        await _write_status(world, "web-0-1", status)
    assert refused.value.status == 422
    assert field in str(refused.value)


async def _write_status(world: World, name: str, status: Object, **more: Any) -> Object:  # noqa: ANN401
    return await world.api.request(
        "PATCH",
        path_of("PodMigration", world.name, name) + "/status",
        body={"status": status, **more},
        content_type="application/merge-patch+json",
    )


# ------------------------------------------------------------------ what the program writes


async def test_what_the_program_writes_is_kept_to_the_letter(world: World) -> None:
    """Else it would read another record after a restart than it wrote."""
    move = Move(
        namespace=world.name,
        pod="web-0",
        uid="1f3c",
        source="a",
        target="b",
        strategy="LoadBalancing",
        reason="a is full",
        way=Way.RECREATE,
        asked=True,
    )
    settings = Migration(temporary_budget=TemporaryBudget(max_unavailable="25%"))
    written = records.build(move, settings, attempt=2, group="g", group_size=3)
    record = await world.api.create(written)
    assert record["spec"] == written["spec"]
    assert record["metadata"]["labels"] == written["metadata"]["labels"]

    now = datetime(2026, 11, 15, 10, 30, 45, tzinfo=UTC)
    status = records.MigrationStatus(
        phase=Phase.COMPLETED,
        step=Step.DONE,
        way=podmigration.Way.RECREATE,
        reason="LandedElsewhere",
        message="It is on c.",
        started_at=now,
        ended_at=now,
        owner=Owner("apps/v1", "StatefulSet", "web", "3"),
        old_node="a",
        new_pod="web-0",
        new_uid="2",
        new_node="c",
        budget="web-rescheduler-pdb",
        siblings=("4", "5"),
        fallback="NotSteered",
        unready=True,
        holder="host_5",
        fence=7,
    )
    document = records.status_document(record, status, now)
    assert None not in document.values()
    kept = await _write_status(world, record["metadata"]["name"], document)
    assert kept["status"] == document
    assert records.read_status(kept) == status


async def test_every_step_and_every_reason_can_be_written(world: World) -> None:
    await world.create(migration())
    now = datetime(2026, 11, 15, 10, 30, 45, tzinfo=UTC)
    statuses = [
        *(records.MigrationStatus(step=step) for step in Step),
        *(records.MigrationStatus(phase=Phase.FAILED, reason=reason) for reason in Reason),
    ]
    for status in statuses:
        record = await world.api.get("PodMigration", world.name, "web-0-1")
        document = records.status_document(record, status, now)
        kept = await _write_status(world, "web-0-1", document)
        assert records.read_status(kept) == status
