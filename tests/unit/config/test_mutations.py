"""Documents with something changed are accepted whole or refused with paths; nothing else (C01)."""

import copy
import json
import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler import config
from rescheduler.documents import places
from tests.unit.config import samples

Path = tuple[str | int, ...]
DOCUMENTS = {"own": samples.COMPLETE_OWN, "stock": samples.COMPLETE_STOCK}


def places_in(value: Any, path: Path = ()) -> Iterator[Path]:  # noqa: ANN401 - any JSON
    """Every place below this one, except in the arguments of other plugins."""
    steps: Iterable[str | int] = ()
    if isinstance(value, dict | list):
        steps = value if isinstance(value, dict) else range(len(value))
    for step in steps:
        yield (*path, step)
        if step != "args" or value.get("name") == "Rescheduler":
            yield from places_in(value[step], (*path, step))


def parent_of(document: samples.Document, path: Path) -> Any:  # noqa: ANN401 - any JSON
    value: Any = document
    for step in path[:-1]:
        value = value[step]
    return value


def misspelt(name: str) -> Iterator[str]:
    middle = len(name) // 2
    yield name[:middle] + name[middle + 1 :]
    yield name[:middle] + "z" + name[middle + 1 :]
    yield name + "s"
    yield name[0].swapcase() + name[1:]


KEYS = [
    pytest.param(kind, path, id=f"{kind}:{places.rendered(path)}")
    for kind, document in DOCUMENTS.items()
    for path in places_in(document)
    if isinstance(path[-1], str)
]


@pytest.mark.parametrize(("kind", "path"), KEYS)
def test_a_misspelt_field_is_named_with_the_right_one(kind: str, path: Path) -> None:
    *parents, name = path
    assert isinstance(name, str)
    whole = DOCUMENTS[kind]
    # Of our own sections the one in question: reading all of them takes a while.
    sections = {*samples.OWN_TYPE, path[0]} if kind == "own" else whole.keys()
    for wrong_name in misspelt(name):
        document = samples.copied({each: whole[each] for each in whole if each in sections})
        parent = parent_of(document, path)
        parent[wrong_name] = parent.pop(name)
        problem = (
            places.rendered((*parents, wrong_name)),
            f'unknown field; did you mean "{name}"?',
        )
        assert problem in samples.problems(document)


def refusal_of(text: str) -> config.ConfigurationError | None:
    try:
        config.parse(text)
    except config.ConfigurationError as error:
        return error
    return None


def accept_or_refuse(text: str) -> None:
    if refusal := refusal_of(text):
        lines = str(refusal).splitlines()
        assert len(lines) == len(refusal.problems) > 0
        assert all(line.isprintable() and line.isascii() for line in lines)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["30s", "1h", "a=b", "Rescheduler", "LoadBalancing", "kube-system", "-1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=6) | st.sampled_from(["name", "args", "enabled", "cpuThreshold"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
changes = st.sampled_from(list(DOCUMENTS)).flatmap(
    lambda kind: st.tuples(
        st.just(kind),
        st.lists(
            st.tuples(
                st.sampled_from(list(places_in(DOCUMENTS[kind]))),
                st.just("delete") | st.tuples(st.just("replace"), values),
            ),
            min_size=1,
            max_size=4,
        ),
    )
)


@given(changes)
@settings(max_examples=200, deadline=None)
def test_changed_values_are_accepted_or_refused(change: tuple[str, list[Any]]) -> None:
    kind, edits = change
    document = samples.copied(DOCUMENTS[kind])
    for path, edit in edits:
        try:
            parent = parent_of(document, path)
            if edit == "delete":
                del parent[path[-1]]
            else:
                parent[path[-1]] = edit[1]
        except (KeyError, IndexError, TypeError):
            continue  # An earlier edit took the place away.
    accept_or_refuse(json.dumps(document))


TEXTS = [path.read_text() for path in sorted(samples.EXAMPLES.glob("*.yaml"))]
inserts = st.text(max_size=3) | st.sampled_from(
    [
        "\t",
        "\n",
        "---\n",
        "&a ",
        "*a",
        "!!int ",
        "? ",
        "- ",
        "{",
        "]",
        "'",
        '"',
        "%",
        "|",
        "\\",
        ":",
    ]
)


@given(
    st.sampled_from(TEXTS),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), inserts), min_size=1, max_size=4),
)
@settings(max_examples=300, deadline=None)
def test_changed_text_is_accepted_or_refused(
    text: str, edits: list[tuple[float, int, str]]
) -> None:
    for where, removed, inserted in edits:
        start = int(where * len(text))
        text = text[:start] + inserted + text[start + removed :]
    accept_or_refuse(text)


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_is_accepted_or_refused(text: str) -> None:
    accept_or_refuse(text)


# ------------------------------------------------------------------ very many of them

MANY = int(os.environ.get("MUTATED_CONFIGURATIONS", "200"))
"""`make test-full` has 100,000."""

WRONG: tuple[object, ...] = (
    *(None, True, 0, -1, 1e308, 2**63, "", "30s", "-1s", "99999h", "a=b", "in (", "150%", "\x00"),
    *(
        [],
        {},
        [None],
        ["kube-system", "kube-system"],
        {"name": "Rescheduler"},
        "RequestedToCapacity",
    ),
)


def mutated(luck: random.Random, document: samples.Document) -> str:
    """With one to three places changed, as a value or in its text."""
    document = samples.copied(document)
    for _ in range(luck.randint(1, 3)):
        path = luck.choice([*places_in(document)])
        parent, step = parent_of(document, path), path[-1]
        match luck.randrange(4):
            case 0:
                del parent[step]
            case 1 if isinstance(parent, dict):
                parent[luck.choice([*misspelt(str(step)), "x"])] = parent.pop(step)
            case 2:
                other = luck.choice(list(places_in(document)))
                parent[step] = samples.copied({"": parent_of(document, other)[other[-1]]})[""]
            case _:
                parent[step] = copy.deepcopy(luck.choice(WRONG))
    text = json.dumps(document)
    if luck.random() < 0.2:
        start = luck.randrange(len(text))
        text = (
            text[:start] + luck.choice(["", "{", "]", ",", "&a ", "!!", "\t"]) + text[start + 1 :]
        )
    return text


def drawn(luck: random.Random) -> samples.Document:
    """Mostly some sections of our own: reading takes a while, and mistakes are made in all."""
    if luck.random() < 0.1:
        return samples.COMPLETE_STOCK
    sections = [name for name in samples.COMPLETE_OWN if name not in samples.OWN_TYPE]
    chosen = luck.sample(sections, 5)
    return {**samples.OWN_TYPE, **{name: samples.COMPLETE_OWN[name] for name in chosen}}


def test_many_mutated_documents_are_accepted_whole_or_refused_with_a_path() -> None:
    luck = random.Random(18)  # noqa: S311 - to be repeated
    accepted = refused = 0
    for _ in range(MANY):
        text = mutated(luck, drawn(luck))
        if refusal := refusal_of(text):
            refused += 1
            assert len(str(refusal).splitlines()) == len(refusal.problems) > 0, text
            # Only what is no YAML, or no mapping, is wrong as a whole.
            assert all(each.path or _is_of_all(each) for each in refusal.problems), text
        else:
            accepted += 1
            found = config.parse(text)
            again = config.parse(json.dumps(config.to_document(found)))
            assert again == replace(found, verbs=(), scheduler_names=())
    assert accepted > MANY / 100
    assert refused > MANY / 4


def _is_of_all(problem: config.Problem) -> bool:
    return "YAML" in problem.message or problem.message.startswith("expected a mapping")
