"""A plan as people read it: what is said, in how many columns, and with which characters."""

from dataclasses import replace

import pytest

from rescheduler.cli.render.layout import Page, alike, some_of
from rescheduler.cli.render.plan_tables import as_text
from rescheduler.model.moves import Plan
from tests.unit.cli.plans import UNEVEN, load, move, plan_of_many, plan_of_three, stays

EVIL = "x\x1b]0;title\x07\x9b2J\n\N{RIGHT-TO-LEFT OVERRIDE}é"


def blocks(plan: Plan, page: Page | None = None, **how: bool) -> dict[str, list[str]]:
    """By the first word of each."""
    said = as_text(plan, page or Page(), about="3 nodes, 10 pods", **how)
    parts = [part.splitlines() for part in said.rstrip("\n").split("\n\n")]
    return {part[0].split()[0]: part for part in parts}


# ------------------------------------------------------------------ what is said


def test_the_first_line_says_it_all() -> None:
    said = as_text(plan_of_three(), Page(), about="3 nodes, 10 pods")
    assert said.splitlines()[0] == (
        "3 nodes, 10 pods: 3 moves in 2 waves; nothing is changed by planning"
    )


def test_every_strategy_says_why() -> None:
    assert blocks(plan_of_three())["STRATEGY"] == [
        "STRATEGY              MOVES  WHY",
        "LoadBalancing             3  cpu requests: imbalance 80.0 to 20.0 points",
        "ResourceOptimization      0  skipped: no node is above 80 % of cpu or memory",
    ]


def test_nodes_before_and_after() -> None:
    assert blocks(plan_of_three())["NODE"] == [
        "NODE         CPU-%  MEMORY-%   PODS  ELIGIBLE",
        "a     90.0 →  60.0      40.0  9 → 6  yes",
        "b     10.0 →  40.0      40.0  1 → 4  yes",
        "c             50.0      40.0      5  no",
    ]


def test_a_node_of_unknown_load() -> None:
    unknown = replace(load("a", pods=(5, 4)), before={}, after={})
    assert blocks(Plan(nodes=(unknown,)))["NODE"][1] == "a     <unknown>  <unknown>  5 → 4  yes"


def test_moves_in_their_order() -> None:
    lines = blocks(plan_of_three())["#"]
    assert lines[0].split() == ["#", "POD", "FROM", "TO", "STRATEGY", "WAY", "WAVE", "REASON"]
    rows = [line.split(maxsplit=7) for line in lines[1:]]
    assert [row[:7] for row in rows] == [
        ["1", "shop/web-1", "a", "b", "LoadBalancing", "surge", "0"],
        ["2", "shop/web-2", "a", "b", "LoadBalancing", "surge", "1"],
        ["3", "shop/db", "a", "b", "LoadBalancing", "recreate", "0"],
    ]
    assert rows[0][7].startswith("cpu requests: a 90.0 %")
    assert rows[1][7].startswith("with its group shop/trio: cpu requests: ")


def test_pods_that_stay_are_grouped_by_the_kind_of_reason() -> None:
    plan = plan_of_three()
    many = [stays(f"job-{number}", "it belongs to a Job") for number in range(9)]
    assert blocks(replace(plan, refusals=(*plan.refusals, *many)))["STAY"] == [
        "STAY  WHY",
        "   9  it belongs to a Job: shop/job-0, shop/job-1, shop/job-2 and 6 more",
        "   2  cpu: requests 500, 30 free (or alike): shop/agent-2, shop/big",
        "   2  it belongs to a DaemonSet: shop/agent-1, shop/agent-2",
    ]


def test_notes_and_how_to_repeat_it_come_last() -> None:
    said = as_text(plan_of_three(), Page()).splitlines()
    assert said[-3].startswith("Note: node c is labelled for maintenance")
    assert said[-1] == "The same plan again: --steps 1234 --seed 7"
    assert "The same plan" not in as_text(replace(plan_of_three(), steps=0), Page())


def test_nothing_to_move() -> None:
    said = as_text(Plan(nodes=(load("a"),)), Page(), about="1 nodes, 5 pods")
    assert said.startswith("1 nodes, 5 pods: nothing to move\n\nNo strategy is enabled.\n")
    assert "POD" not in said.replace("PODS", "")


def test_nothing_at_all() -> None:
    assert as_text(Plan(), Page(width=80)) == "nothing to move\n\nNo strategy is enabled.\n"


# ------------------------------------------------------------------ the picture


def picture(plan: Plan, page: Page) -> list[str]:
    lines = blocks(plan, page)["Eligible"]
    return [line.split("|")[1] for line in lines if "|" in line]


def test_the_picture_has_a_bar_for_every_twentieth() -> None:
    before, after, memory, memory_after = picture(plan_of_three(), Page())
    # One node at 90 %, one at 10 %; the one that is not eligible is not in it.
    assert (before.index("▄"), before.rindex("▄"), len(before)) == (2, 18, 21)
    assert (after.index("▄"), after.rindex("▄")) == (8, 12)
    assert (memory.strip(), memory.index("█")) == ("█", 8)
    assert memory_after == memory


def test_the_imbalance_stands_beside_the_picture() -> None:
    lines = blocks(plan_of_three())["Eligible"]
    assert lines[0] == "Eligible nodes by load (requests): 2, up to 2 in a bar of 5 points"
    assert lines[2].endswith("| imbalance 80.0 points: a to b")
    assert lines[3].endswith("| imbalance 20.0 points")
    assert lines[4].endswith("|")  # nobody has judged that of memory


def test_more_than_all_is_in_the_last_bar_and_one_node_of_many_is_seen() -> None:
    many = tuple(load(f"n{number}", (42.0, 42.0)) for number in range(500))
    nodes = (*many, load("over", (180.0, 42.0)), load("full", (100.0, 42.0)))
    bars = picture(Plan(nodes=nodes), Page())[0]
    assert bars == " " * 8 + "█" + " " * 10 + "▁▁"


def test_no_picture_where_no_load_is_known() -> None:
    unknown = replace(load("a"), before={}, after={})
    assert "Eligible" not in blocks(Plan(nodes=(unknown,)))
    assert "Eligible" not in blocks(Plan(nodes=(load("a", eligible=False),)))


# ------------------------------------------------------------------ many of everything


def test_of_many_nodes_those_that_change_are_shown_and_the_ends() -> None:
    still = tuple(load(f"still-{number:02}") for number in range(30))
    changed = load("moved", (90.0, 40.0), (60.0, 40.0))
    plan = Plan(
        nodes=(changed, *still), imbalances=(replace(UNEVEN, most="moved", least="still-07"),)
    )
    lines = blocks(plan)["NODE"]
    assert [line.split()[0] for line in lines[1:3]] == ["moved", "still-07"]
    assert lines[3] == "and 29 nodes without a change; --all shows all"
    assert len(blocks(plan, everything=True)["NODE"]) == 32


def test_of_many_reasons_the_most_frequent_are_shown() -> None:
    words = [f"reason {'abcdefghijklmnopqrst'[number]}" for number in range(20)]
    plan = Plan(refusals=tuple(stays(f"pod-{word[-1]}", word) for word in words))
    lines = blocks(plan)["STAY"]
    assert (len(lines), lines[-1]) == (17, "and 5 more reasons; --all shows all")
    assert len(blocks(plan, everything=True)["STAY"]) == 21


def test_thousands_of_moves_are_all_printed() -> None:
    plan = plan_of_many(900, 2000)
    for page in (Page(), Page(width=100)):
        said = as_text(plan, page)
        numbered = [line for line in said.splitlines() if " surge " in line]
        assert len(numbered) == 2000


# ------------------------------------------------------------------ terminals


@pytest.mark.parametrize("width", [72, 80, 100, 120])
@pytest.mark.parametrize("plain", [True, False])
def test_on_a_terminal_everything_fits(width: int, *, plain: bool) -> None:
    page = Page(width=width, plain=plain)
    for plan in (plan_of_many(30, 40), plan_of_three()):
        said = as_text(plan, page, about="30 nodes, 40 pods")
        too_long = [line for line in said.splitlines() if len(line) > width]
        assert too_long == []
        # Cut names are still told apart, and every reason is whole.
        assert len([line for line in said.splitlines() if " points" in line]) >= len(plan.moves)


def test_for_a_file_names_and_lines_stay_whole() -> None:
    plan = plan_of_many(3, 3)
    rows = blocks(plan)["#"]
    assert len(rows) == 4
    assert all(
        move.source in row and move.target in row and move.reason in row
        for move, row in zip(plan.moves, rows[1:], strict=True)
    )


def test_where_there_are_few_characters_it_uses_few() -> None:
    for plan in (plan_of_three(), plan_of_many(30, 40)):
        said = as_text(plan, Page(width=80, plain=True))
        assert said.isascii()
        assert "|" in said
    assert "90.0 ->  60.0" in as_text(plan_of_three(), Page(plain=True))
    assert {*"".join(picture(plan_of_three(), Page(plain=True)))} == {" ", "=", "@"}


def test_names_cannot_command_a_terminal() -> None:
    plan = plan_of_three()
    evil = replace(
        plan,
        moves=(move(EVIL, EVIL, EVIL, reason=EVIL, group=EVIL),),
        refusals=(stays(EVIL, EVIL),),
        reports=(replace(plan.reports[0], strategy=EVIL, summary=EVIL),),
        nodes=(load(EVIL),),
        imbalances=(replace(UNEVEN, most=EVIL, least=EVIL),),
        notes=(EVIL,),
    )
    for page in (Page(), Page(width=80), Page(plain=True)):
        said = as_text(evil, page, about=EVIL)
        assert all(each.isprintable() or each == "\n" for each in said)
        assert r"\x1b]0;title\x07" in said


# ------------------------------------------------------------------ words


def test_some_of_many() -> None:
    assert some_of([]) == ""
    assert some_of(["a", "b", "c"]) == "a, b, c"
    assert some_of(["a", "b", "c", "d"]) == "a, b, c and 1 more"


def test_reasons_that_differ_in_numbers_and_names_are_alike() -> None:
    told = [("cpu: 5 free", "a"), ("no room", "b"), ("cpu: 7 free", "c"), ("cpu: 7 free", "d")]
    assert list(alike(told)) == [("cpu: 7 free (or alike)", ("a", "c", "d")), ("no room", ("b",))]


def test_a_pod_that_is_told_of_twice_counts_once() -> None:
    assert list(alike([("cpu: 5", "a"), ("cpu: 7", "a")])) == [("cpu: 5 (or alike)", ("a",))]
