"""One frame of the demo, on terminals of several sizes."""

import io
from dataclasses import replace

import pytest
from rich.console import Console, Group
from rich.text import Text

from rescheduler.cli.render.layout import Page
from rescheduler.cli.render.live_view import Frame, drawn
from rescheduler.model.moves import Plan
from rescheduler.simulation.scenes import Chapter, MoveLook, PodLook
from tests.unit.cli import plans
from tests.unit.cli.scenes import move, scene

SIZES = [(80, 24), (100, 30), (120, 40), (160, 45), (220, 60), (60, 16), (40, 12), (20, 5), (5, 2)]
SENTENCE = "rescheduler run: each new pod is Ready before the old one goes."
MOVES = tuple(
    move(f"web-{number}", look, changed=number)
    for number, look in enumerate([MoveLook.MOVED] * 9 + [MoveLook.UNDER_WAY] * 4)
)
FRAME = Frame(chapter=Chapter(number=3, sentence=SENTENCE), scene=scene(moves=MOVES, moved=9))
PLAN = Plan(
    moves=tuple(plans.move(f"web-{number}") for number in range(40)),
    refusals=tuple(
        plans.stays(f"db-{number}", "it is one of a StatefulSet") for number in range(9)
    ),
    reports=(plans.ACTS, plans.RESTS),
)


def shown(frame: Frame, width: int, height: int, *, plain: bool = False) -> list[str]:
    """As a terminal of that size shows it."""
    lines = drawn(frame, width, height, Page(plain=plain))
    console = Console(width=width, height=height, record=True, file=io.StringIO(), highlight=False)
    console.print(Group(*lines))
    return console.export_text().splitlines()


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("plan", [None, PLAN])
@pytest.mark.parametrize("nodes", [0, 1, 30, 200])
def test_a_frame_fits_the_terminal(width: int, height: int, plan: Plan | None, nodes: int) -> None:
    frame = replace(FRAME, scene=scene(nodes, MOVES), plan=plan, about="30 nodes")
    lines = drawn(frame, width, height, Page())
    assert len(lines) <= height
    assert all(line.cell_len <= width for line in lines)


@pytest.mark.parametrize(("width", "height"), SIZES[:5])
def test_where_there_is_room_everything_is_shown(width: int, height: int) -> None:
    lines = shown(FRAME, width, height)
    assert len(lines) == height
    text = "\n".join(lines)
    for number in range(1, 31):
        assert f"node-{number:02}" in text
    assert SENTENCE in text
    assert "shop/web-12" in text
    assert "node-01 → node-02" in text
    assert "copy starts" in text
    assert "cpu usage: node-01 90.0 %, node-02 1.0 %" in text
    assert lines[-1].split("  ")[:2] == ["imbalance cpu 88, memory 61 points", "moved 9"]
    assert "dips 0" in lines[-1]


def test_the_node_in_maintenance_is_marked() -> None:
    [line] = [line for line in shown(FRAME, 120, 40) if line.startswith("node-03")]
    assert "✱" in line


def test_a_bar_is_as_long_as_the_load_and_behind_it_stands_what_is_requested() -> None:
    hot, idle = (
        next(line for line in shown(FRAME, 120, 40) if line.startswith(name))
        for name in ("node-01", "node-10")
    )
    assert hot.count("█") > 2 * idle.count("█")
    assert " 95%" in hot
    assert " 40%" in idle
    assert idle.count("░") >= 5
    assert hot.rstrip().endswith("■■■■■")


def test_many_nodes_are_tiles_by_load() -> None:
    lines = shown(replace(FRAME, scene=scene(200, MOVES)), 80, 24)
    assert lines[3].startswith("██ ██ ✱✱ ▄▄ ")


def test_the_last_moves_are_shown_and_those_that_wait_are_counted() -> None:
    waiting = tuple(move(f"late-{number}", MoveLook.WAITING) for number in range(7))
    lines = shown(replace(FRAME, scene=scene(moves=(*MOVES, *waiting))), 80, 24)
    text = "\n".join(lines)
    assert "moves, 7 wait for their turn ──" in text
    assert "late-" not in text
    assert "shop/web-0 " not in text


def test_a_failed_move_says_why_it_failed() -> None:
    failed = move("web-0", MoveLook.FAILED, outcome="NotReadyInTime: not Ready after 300 s")
    text = "\n".join(shown(replace(FRAME, scene=scene(moves=(failed,), failed=1)), 80, 24))
    assert "NotReadyInTime: not Ready after 300 s" in text
    assert "failed 1" in text


@pytest.mark.parametrize(("width", "height"), SIZES[:5])
def test_the_plan_is_shown_in_the_words_of_the_command(width: int, height: int) -> None:
    frame = replace(FRAME, plan=PLAN, about="30 nodes, 400 pods")
    text = " ".join("\n".join(shown(frame, width, height)).split())
    assert "30 nodes, 400 pods: 40 moves in 1 wave" in text
    assert "LoadBalancing 40" in text
    assert "cpu requests: a 90.0 %, b 10.0 %" in text
    assert "more moves" in text
    assert "STAY WHY" in text


def test_a_plan_that_is_cut_ends_with_a_whole_move() -> None:
    for height in range(14, 40):
        lines = shown(replace(FRAME, plan=PLAN, about="30 nodes"), 80, height)
        [place] = [place for place, line in enumerate(lines) if line.startswith("... and")]
        assert lines[place - 1].startswith("    ")


def test_a_terminal_without_such_characters_gets_others() -> None:
    looks = scene(moves=MOVES)
    first = replace(looks.nodes[0], pods=(PodLook.SERVING, PodLook.STARTING, PodLook.LEAVING))
    frame = replace(FRAME, scene=replace(looks, nodes=(first, *looks.nodes[1:])))
    for width, height in SIZES:
        assert "".join(shown(frame, width, height, plain=True)).isascii()


def test_names_cannot_act_on_the_terminal() -> None:
    evil = move("web\x1b[2J", reason="because\x1b[31m", changed=99)
    lines = drawn(replace(FRAME, scene=scene(moves=(evil,))), 80, 24, Page())
    assert "\x1b" not in Text("\n").join(lines).plain
