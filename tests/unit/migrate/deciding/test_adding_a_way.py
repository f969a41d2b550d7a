"""A way of moving of one's own is one folder, one row, and its name in the schema of records."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rescheduler.config.migration import BY_NAME
from rescheduler.migrate.deciding.deciding import WAYS
from rescheduler.model.podmigration import Way

ROOT = Path(__file__).parents[4]
TOY = '''
"""Evicts the pod, and lets it land where it likes."""

from rescheduler.migrate.deciding import timeouts
from rescheduler.migrate.deciding.actions import Action, End, Evict
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.deciding.way import NOT_FOR_IT, Case, Decider, Hindrance
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Reason, Way


def why_not(case: Case) -> Hindrance | End | None:
    return None if case.wanted is Way.TOY else NOT_FOR_IT


def next_action(intent: Intent, view: View, progress: Progress) -> Action:
    if view.original is None:
        return End(Outcome(moved=True, reason=Reason.COMPLETED, message="it toyed"))
    grace = timeouts.grace(view.original, intent.settings)
    return Evict("evicts the original", view.original, grace)


def new_pod(intent: Intent, view: View, progress: Progress) -> Object | None:
    return None


WAY = Decider(way=Way.TOY, why_not=why_not, next_action=next_action, new_pod=new_pod)
'''
ONE_MOVE = """
import json
from rescheduler.config import Configuration
from rescheduler.embedded import virtual_time
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.migrate import migrating
from rescheduler.model import names
from rescheduler.model.moves import Move
from rescheduler.simulation.filling import fill
from rescheduler.simulation.generating import generate
from rescheduler.wire import POD_MIGRATIONS, PODS


async def main():
    cluster = EmbeddedCluster(seed=1)
    fill(cluster, generate(nodes=4, pods=12, seed=1))
    async with cluster:
        await cluster.clock.sleep(60)
        kube = cluster.client()
        pod = next(
            each
            for each in cluster.store.all(PODS)
            if each["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        )
        meta, node = pod["metadata"], pod["spec"]["nodeName"]
        change = {"metadata": {"annotations": {names.WAY: "Toy"}}}
        await kube.patch(PODS, meta["namespace"], meta["name"], uid=meta["uid"], change=change)
        move = Move(
            namespace=meta["namespace"],
            pod=meta["name"],
            uid=meta["uid"],
            source=node,
            target="elsewhere",
            strategy="Manual",
            reason="a toy",
        )
        async with migrating(kube, cluster.clock, Configuration()) as migrator:
            [handle] = await migrator.submit([move])
            outcome = await handle.ended()
        record = await kube.get(POD_MIGRATIONS, meta["namespace"], handle.record)
        uids = [each["metadata"]["uid"] for each in cluster.store.all(PODS)]
        return record["status"]["way"], outcome.message, meta["uid"] in uids


print(json.dumps(virtual_time.run(main())))
"""


def _with_a_line(path: Path, pattern: str, line: str) -> None:
    text, times = re.subn(pattern, line, path.read_text(), flags=re.MULTILINE)
    assert times
    path.write_text(text)


def test_one_folder_one_row_and_its_name(tmp_path: Path) -> None:
    source = tmp_path / "rescheduler"
    shutil.copytree(ROOT / "src/rescheduler", source, ignore=shutil.ignore_patterns("__pycache__"))
    # Its own folder.
    (source / "migrate/deciding/toy").mkdir()
    (source / "migrate/deciding/toy/__init__.py").touch()
    (source / "migrate/deciding/toy/way.py").write_text(TOY)
    # A row of the table: what everybody has to know of it.
    last = '    RECREATE = "Recreate", False, True'
    table = source / "model/podmigration/ways.py"
    _with_a_line(table, f"^{last}$", f'    TOY = "Toy", False, True\n{last}')
    # The fields of records that name it.
    _with_a_line(
        source / "crd.yaml", r"enum: \[Surge, Recreate, Copy\]", "enum: [Surge, Recreate, Toy]"
    )
    ended = subprocess.run(
        [sys.executable, "-c", ONE_MOVE],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told == ["Toy", "it toyed", False]


@pytest.mark.parametrize("way", Way)
def test_each_way_is_found_by_its_name(way: Way) -> None:
    assert WAYS[way].way is way


def test_who_can_be_two_for_a_while_is_asked_before_it_is_recreated() -> None:
    assert [each.way.value for each in WAYS.values()] == ["Surge", "Copy", "Recreate"]


def test_the_configuration_offers_what_the_table_says() -> None:
    assert BY_NAME == ("Surge", "Recreate")
    assert not Way.RECREATE.makes_a_copy
