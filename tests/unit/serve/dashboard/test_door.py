"""What the dashboard answers, to whom, and what it costs whoever asks too much."""

# ruff: noqa: S106 - what is given as a token is the name of a user

import concurrent.futures
import gzip
import json
import random
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.big_state import BigState
from rescheduler.serve.dashboard import door
from rescheduler.serve.dashboard.audience import Reader
from rescheduler.serve.dashboard.contract import ENDPOINTS
from rescheduler.serve.dashboard.frames import Block
from rescheduler.serve.dashboard.view import About, Doubt
from tests.unit.serve.dashboard.shown import (
    LATER,
    NODES,
    OURS,
    PODS,
    Users,
    decided,
    shown,
    view_of,
)

LISTS = [each.path.strip("/") for each in ENDPOINTS if "{" not in each.path]
PLAIN = [each for each in LISTS if each not in ("events", "plan/curve")]


@pytest.mark.parametrize("path", [*PLAIN, "nodes/node-0001", "pods/team-0/app-0000-0"])
def test_each_address_answers_as_it_is_described(path: str) -> None:
    with shown() as site:
        answer = site.ask(path)
        assert answer.status == 200, answer.body
        assert answer.headers["Content-Type"].startswith("application/json")
        described = site.ask("openapi.json").json
        assert answer.json.keys()
    name = {
        "nodes/node-0001": "/nodes/{name}",
        "pods/team-0/app-0000-0": "/pods/{namespace}/{name}",
    }
    content = described["paths"][name.get(path, f"/{path}")]["get"]["responses"]["200"]["content"]
    reference = content["application/json"]["schema"].get("$ref")
    if reference:
        schema = described["components"]["schemas"][reference.rsplit("/", 1)[1]]
        assert set(answer.json) == set(schema["required"])


def test_every_answer_keeps_other_pages_away() -> None:
    with shown() as site:
        for path in ("overview", "/", "no/such/thing"):
            headers = site.ask(path).headers
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert "unsafe" not in headers["Content-Security-Policy"]
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["X-Frame-Options"] == "DENY"
            assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("no-such-thing", 404, "openapi.json has them all"),
        ("plans?limit=0", 400, "limit"),
        ("plans?limit=x", 400, "limit"),
        ("plans?continue=-1", 400, "continue"),
        ("plans?mode=Auto", 400, "there is no such parameter"),
        ("plans?limit=1&limit=2", 400, "more than once"),
        ("migrations?phase=Lost", 400, "Pending, InProgress, Completed, Failed"),
        ("plans/none", 404, "plan none is not there"),
        ("nodes/none", 404, "node none is not there"),
        ("pods/team-0/none", 404, "pod team-0/none is not there"),
        ("migrations/team-0/none", 404, "migration team-0/none is not there"),
    ],
)
def test_what_is_not_to_be_had_is_told_with_the_way_out(path: str, status: int, words: str) -> None:
    with shown() as site:
        answer = site.ask(path)
        assert answer.status == status
        assert words in answer.body.decode()
        assert answer.json["error"]["code"]
        assert answer.json["error"]["message"]


def test_methods_that_are_not_for_it_are_refused() -> None:
    with shown() as site:
        assert site.ask("overview", method="POST", body=b"{}").status == 405
        assert site.ask("plans/x/approve").status == 405
        assert site.ask("/", method="POST", body=b"{}").status == 405
        assert site.ask("overview", method="HEAD").body == b""
        # Nobody would read that stream, nor end it.
        assert site.ask("events", method="HEAD").status == 405


def test_a_version_is_of_one_process_only() -> None:
    """Else a page would go on with the numbers of nodes that it has of another replica."""
    view = view_of(BigState(NODES, PODS))
    versions = set()
    for _ in range(2):
        with shown(view) as site:
            versions.add(site.ask("cluster").json["version"])
    assert len(versions) == 2


def test_whoever_is_not_let_in_costs_no_view() -> None:
    with shown(gate=Users(admin=None), authentication="Token") as site:
        for path in ("overview", "cluster", "events"):
            assert site.ask(path).status == 401
            assert site.ask(path, token="wrong").status == 401
        assert site.made.latest is None
        assert site.ask("overview", token="admin").status == 200
        assert site.made.latest is not None


def test_without_a_token_only_this_machine_is_answered() -> None:
    """A page elsewhere could have the browser ask by a name that leads here."""
    with shown() as site:
        assert site.ask("overview", Host="rebound.example.com").status == 403
        assert site.ask("/", Host="rebound.example.com:8080").status == 403
        for name in ("localhost", "127.0.0.1:9", "[::1]:9"):
            assert site.ask("overview", Host=name).status == 200
        assert site.ask("overview", Sec_Fetch_Site="cross-site").status == 403
        assert site.ask("overview", Origin="http://elsewhere.example").status == 403


# ------------------------------------------------------------------ who sees what


def test_whoever_has_no_token_or_a_bad_one_hears_nothing() -> None:
    users = Users(admin=None)
    with shown(gate=users, authentication="Token") as site:
        for path in PLAIN:
            if path != "openapi.json":
                answer = site.ask(path)
                assert answer.status == 401
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")
                assert site.ask(path, token="wrong").status == 401
        assert site.ask("events").status == 401
        assert site.ask("overview", Authorization="Basic abc").status == 401
        assert site.ask("overview", token="admin").status == 200
        # The page itself says nothing, and has to come before anybody can sign in.
        assert site.ask("/").status == 200
    assert users.asked.count("wrong") == 1, "a token that was refused is not asked about again"
    assert users.asked.count("admin") == 1


def test_hidden_namespaces_are_in_no_answer() -> None:
    users = Users(admin=None, guest=["team-0"])
    big = BigState(NODES, PODS)
    view = view_of(big)
    told = decided(view)
    view = replace(view, decided=told)
    hidden = [f"team-{number}" for number in range(1, 12)]
    with shown(view, users, authentication="Token") as site:
        assert "team-1" in site.ask("cluster", token="admin").body.decode()
        paths = [*PLAIN, "nodes/node-0001", "pods/team-0/app-0000-0"]
        for path in paths:
            text = site.ask(path, token="guest").body.decode()
            found = [each for each in hidden if f"{each}/" in text or f'"{each}"' in text]
            assert not found, f"{path} tells of {found}"
        with site.stream(token="guest") as events:
            events.next("hello")
            big.some_events(1, PODS)
            site.change(replace(view_of(big), decided=replace(told, at=LATER)))
            name = ""
            while name != "plan":
                name, said = events.next()
                text = json.dumps(said)
                assert not [each for each in hidden if f"{each}/" in text or f'"{each}"' in text]
        assert site.ask("pods/team-1/app-0001-0", token="guest").status == 404
        there, not_there = (
            site.ask(f"pods/{name}", token="guest").json["error"]["message"]
            for name in ("team-1/app-0001-0", "team-1/app-0001-x")
        )
        assert there.replace("-0 ", "-x ") == not_there, "nobody can tell the two apart"
        plan = site.ask("plan", token="guest").json
        assert len(plan["moves"]) + plan["hiddenMoves"] == 2
        assert site.ask("overview", token="guest").json["viewer"]["seesEverything"] is False


def test_nor_are_those_of_whoever_decided_and_those_that_are_gone() -> None:
    """The name of an account has that of its namespace in it; a plan may outlive a namespace."""
    account, gone = "system:serviceaccount:team-1:decider", "team-of-yesterday"
    move = {"namespace": gone, "pod": "web", "uid": "u", "from": "node-0001", "to": "node-0002"}
    plan: dict[str, Any] = {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "ReschedulePlan",
        "metadata": {"name": "one", "uid": "one", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"moves": [move], "summary": f"makes room for {gone}/web"},
        "status": {
            "phase": "Completed",
            "message": f"pod {gone}/web was moved",
            "approval": {"decision": "approved", "by": account},
            "observed": {"verdict": "AsPredicted", "message": "but for team-1/app-0001-0"},
        },
    }
    told = About(pause=f"paused by {account}", paused_by=account)
    view = view_of(BigState(NODES, PODS), plans={"one": plan}, about=told)
    why_not = "no right to patch rescheduleplans in namespace team-1"
    users = Users(why_not, admin=None, guest=["team-0"])
    hidden, seen = ("team-1:", "team-1/", gone, "namespace team-1"), ""
    with shown(view, users, authentication="Token", actions=True) as site:
        for path in ("overview", "plans", "plans/one", "history"):
            seen += site.ask(path, token="admin").body.decode()
            text = site.ask(path, token="guest").body.decode()
            assert not [each for each in hidden if each in text], path
        assert not [each for each in hidden[:3] if each not in seen]
        assert site.ask("overview", token="guest").json["viewer"]["whyNot"]


# ------------------------------------------------------------------ what is not known yet


def test_records_and_plans_are_waited_for_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {"metadata": {"name": "one", "uid": "one"}, "spec": {"moves": []}}
    view = view_of(BigState(NODES, PODS), is_listing=True)
    with shown(view) as site, concurrent.futures.ThreadPoolExecutor(1) as threads:
        asked = threads.submit(site.ask, "plans")
        # What is not in them is answered meanwhile.
        assert site.ask("overview").status == 200
        assert not asked.done()
        site.change(replace(view, is_listing=False, plans={"one": plan}))
        assert asked.result().json["total"] == 1
    monkeypatch.setattr(door, "_LISTING_TRIES", 2)
    with shown(view) as site:
        assert site.ask("plans").json["total"] == 0


def test_whoever_is_blind_for_records_and_plans_says_so() -> None:
    doubts = [
        Doubt(resource="podmigrations", reason="not heard of", seconds=12.34),
        Doubt(resource="rescheduleplans", reason='may not list them in "team-1"', seconds=0),
    ]
    view = view_of(BigState(NODES, PODS), doubts=doubts)
    users = Users(admin=None, guest=["team-0"])
    with shown(view, users, authentication="Token") as site:
        told = site.ask("overview", token="admin").json["blind"]
        assert told[0] == {
            "resource": "podmigrations",
            "reason": "not heard of",
            "seconds": 12.3,
        }
        assert told[1]["reason"] == doubts[1].reason
        assert "team-1" not in str(site.ask("overview", token="guest").json["blind"])


# ------------------------------------------------------------------ acting


def test_whoever_acts_does_so_by_their_own_token() -> None:
    users = Users(admin=None, guest=["team-0"])
    with shown(gate=users, authentication="Token", actions=True) as site:
        path = "plans/one/approve"
        body = b'{"uid": "u1"}'
        assert site.ask(path, method="POST", body=body, **OURS).status == 401
        answer = site.ask(path, method="POST", body=body, token="admin", **OURS)
        assert answer.status == 200
        assert answer.json == {"plan": "one", "message": "done", "changed": True}
        [(token, act)] = users.acted
        assert token == "admin"  # noqa: S105 - a name
        assert (act.what, act.name, act.uid) == ("approve", "one", "u1")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json"},
        {"X-Rescheduler-Request": "1", "Content-Type": "text/plain"},
        {**OURS, "Sec-Fetch-Site": "cross-site"},
        {**OURS, "Sec-Fetch-Site": "same-site"},
        {**OURS, "Origin": "http://elsewhere.example"},
    ],
    ids=["no header of ours", "a form", "another site", "a sibling", "another origin"],
)
def test_no_other_page_can_act(headers: dict[str, str]) -> None:
    users = Users(admin=None)
    with shown(gate=users, authentication="Token", actions=True) as site:
        said = {name.replace("-", "_"): value for name, value in headers.items()}
        answer = site.ask("plans/one/undo", method="POST", body=b"{}", token="admin", **said)
        assert answer.status == 403
    assert not users.acted


def test_where_acting_is_off_nobody_acts() -> None:
    users = Users(admin=None)
    with shown(gate=users, authentication="Token") as site:
        answer = site.ask("plans/one/approve", method="POST", body=b"{}", token="admin", **OURS)
        assert answer.status == 403
        assert "dashboard.actions" in answer.json["error"]["wayOut"]
        assert site.ask("overview", token="admin").json["viewer"]["mayAct"] is False
    assert not users.acted


# ------------------------------------------------------------------ the stream


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
def test_the_stream_says_what_changes(*, packed: bool) -> None:
    big = BigState(NODES, PODS)
    with shown(view_of(big)) as site, site.stream(packed=packed) as events:
        name, hello = events.next()
        assert name == "hello"
        cluster = site.ask("cluster").json
        assert cluster["version"] == hello["version"]
        big.some_events(1)
        site.change(view_of(big))
        _, patch = events.next("cluster")
        assert patch["since"] == cluster["version"]
        assert patch["removed"]["node"]
        assert patch["added"]["node"]
        assert site.ask("cluster").json["version"] == patch["version"]


def test_who_comes_later_goes_on_from_what_the_cluster_is_by_then() -> None:
    big = BigState(NODES, PODS)
    with shown(view_of(big)) as site:
        with site.stream() as first:
            first.next("hello")
            big.some_events(1)
            site.change(view_of(big))
            _, patch = first.next("cluster")
        with site.stream() as second:
            _, hello = second.next("hello")
            assert hello["version"] == patch["version"]


def test_ten_viewers_cost_what_one_costs() -> None:
    big = BigState(NODES, PODS)
    with shown(view_of(big)) as site, ExitStack() as streams:
        readers = [streams.enter_context(site.stream()) for _ in range(10)]
        for each in readers:
            each.next("hello")
        before = len(site.counted)
        big.some_events(1)
        site.change(view_of(big))
        patches = [each.next("cluster")[1] for each in readers]
        worked_out = len(site.counted) - before
    assert all(each == patches[0] for each in patches)
    assert worked_out < 10


def test_ten_who_ask_the_same_are_answered_by_one_computation() -> None:
    with shown() as site, concurrent.futures.ThreadPoolExecutor(10) as threads:
        site.ask("overview")
        before = len(site.counted)
        answers = [*threads.map(lambda _: site.ask("pods?limit=5").body, range(10))]
    assert len(set(answers)) == 1
    assert len(site.counted) - before == 1


async def test_who_reads_nothing_is_behind_and_costs_nothing() -> None:
    reader, block = Reader(), Block.of(b"x" * 1000)
    for _ in range(1000):
        reader.offer(block)
    assert reader.is_behind
    assert reader.waiting < 100


async def test_few_large_blocks_are_too_much_as_well() -> None:
    reader, block = Reader(), Block.of(random.Random(0).randbytes(3 * 2**20))  # noqa: S311
    for _ in range(5):
        reader.offer(block)
    assert reader.is_behind


def test_only_so_many_streams_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_MOST_STREAMS", 2)
    with shown() as site, site.stream() as one, site.stream() as two:
        one.next("hello")
        two.next("hello")
        assert site.ask("events").status == 429
        assert site.ask("overview").status == 200


# ------------------------------------------------------------------ what is asked again


def test_what_is_the_same_is_not_sent_again() -> None:
    with shown() as site:
        first = site.ask("cluster", Accept_Encoding="gzip")
        assert first.headers["Content-Encoding"] == "gzip"
        assert json.loads(gzip.decompress(first.body)) == site.ask("cluster").json
        again = site.ask("cluster", If_None_Match=first.headers["ETag"])
        assert (again.status, again.body) == (304, b"")


def test_lists_come_in_pages() -> None:
    with shown() as site:
        found, following = [], "0"
        while following:
            page = site.ask(f"pods?limit=50&continue={following}").json
            found += [f"{each['namespace']}/{each['name']}" for each in page["items"]]
            following = page["continue"]
        assert found == sorted(found)
        assert len(found) == page["total"] == len(set(found))
        assert site.ask("pods?q=app-0003+deployment").json["total"] > 0
        assert site.ask("pods?q=no-such-thing").json["total"] == 0


# ------------------------------------------------------------------ the page


def test_files_of_the_page_are_kept_by_browsers(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<html>here</html>")
    (tmp_path / "assets/app-1a2b.js").write_text("go();" * 500)
    from rescheduler.serve.dashboard.page_files import PageFiles

    files = PageFiles(tmp_path)
    script = files.find("/assets/app-1a2b.js")
    assert script is not None
    assert script.content_type.startswith("text/javascript")
    assert "immutable" in script.cache
    assert script.compressed is not None
    for view in ("/", "/plan", "/migrations"):
        index = files.find(view)
        assert index is not None
        assert index.body == b"<html>here</html>"
        assert index.cache == "no-cache"
    assert files.find("/assets/none.js") is None
    assert files.find("/../secret") is None
    assert files.find("/assets/../../secret.txt") is None


def test_without_a_built_page_it_is_said_what_to_do(tmp_path: Path) -> None:
    from rescheduler.serve.dashboard.page_files import PageFiles

    found = PageFiles(tmp_path / "none").find("/")
    assert found is not None
    assert b"make dashboard" in found.body


@pytest.mark.parametrize("base", ["", "/rescheduler"])
def test_a_proxy_may_pass_it_on_below_a_path(base: str) -> None:
    with shown(base_path="/rescheduler") as site:
        assert site.ask(f"{base}/api/v1alpha1/overview").status == 200
        assert site.ask(f"{base}/").status == 200
