"""A strategy of one's own is one file and one line."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from rescheduler.plan.strategies import IN_ORDER

ROOT = Path(__file__).parents[3]
TOY = '''
"""Says hello, and moves nothing."""

from rescheduler.model.moves import Report
from rescheduler.plan.desk import Desk
from rescheduler.plan.strategies.strategy import Strategy


def decide(desk: Desk) -> Report:
    hello = f"hello to {len(desk.snapshot.nodes)} nodes"
    return Report(strategy="ToyGreeting", acted=False, summary=hello)


STRATEGY = Strategy(name="ToyGreeting", decide=decide)
'''
LAST = re.compile(r'^    ("LoadBalancing"|LOAD_BALANCING),\n\)', re.MULTILINE)


def test_one_file_and_one_line(tmp_path: Path) -> None:
    source = tmp_path / "rescheduler"
    shutil.copytree(ROOT / "src/rescheduler", source, ignore=shutil.ignore_patterns("__pycache__"))
    (source / "plan/strategies/toy_greeting.py").write_text(TOY)
    # Their names stand in one place.
    [names] = [path for path in source.rglob("*.py") if LAST.search(path.read_text())]
    names.write_text(LAST.sub(r'    \1,\n    "ToyGreeting",\n)', names.read_text()))
    settings = tmp_path / "toy.yaml"
    settings.write_text(
        "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
        "enabledStrategies: [ToyGreeting]\n"
    )
    cluster = ROOT / "docs/examples/uneven-cluster.json"
    command: list[str | Path] = [sys.executable, "-m", "rescheduler", "plan", "-o", "json"]
    ended = subprocess.run(
        [*command, "-f", cluster, "--config", settings],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    decided = json.loads(ended.stdout)
    assert decided["moves"] == []
    [report] = decided["strategies"]
    assert (report["name"], report["summary"]) == ("ToyGreeting", "hello to 4 nodes")


def test_what_a_person_asked_for_comes_first_and_what_is_uneven_last() -> None:
    assert [each.name for each in IN_ORDER] == [
        "NodeMaintenance",
        "TopologySpread",
        "ResourceOptimization",
        "CostOptimization",
        "LoadBalancing",
    ]
