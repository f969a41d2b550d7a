"""What we read in a quantity, against the form that the real API server gives it.

QUANTITIES asks for more of them than every change needs, and QUANTITIES_SEED for others.
"""

import asyncio
import os
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from rescheduler.model import quantities
from testbed.api import Api, Object
from testbed.world import World

SEED = os.environ.get("QUANTITIES_SEED", "2026")
COUNT = int(os.environ.get("QUANTITIES", "50000"))

CAP = 2**63 - 1
"""What is larger is this to us. The API server does so only where the suffix is binary; of
8957824979440432000E it makes 8957824979440432, for it has no suffix that would do."""

PATH = "/apis/resource.k8s.io/v1/resourceslices"
PER_DEVICE, DEVICES = 32, 128

BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
SUFFIXES = ["", "", *"numkMGTPE", *BINARY]
NO_NUMBERS = ["abc", "1K", "1ki", "1mi", "1i", "1e", "1E+", "1e3Gi", "1Gi3", "0x1", "1_0", "1,5"]
NO_NUMBERS += ["--1", "1..2", "1.2.3", "Infinity", "nan", "1 Gi", "\u0663"]


def numbers(luck: random.Random) -> Iterator[str]:
    while True:
        sign = luck.choice(["", "", "", "+", "-"])
        digits = str(luck.randrange(10 ** luck.randint(0, 17)))
        if luck.random() < 0.3:
            digits += "0" * luck.randint(1, 5)
        if luck.random() < 0.1:
            digits = "0" * luck.randint(1, 3) + digits
        point = luck.randint(0, len(digits)) if luck.random() < 0.5 else None
        number = digits if point is None else f"{digits[:point]}.{digits[point:]}"
        exponent = f"{luck.choice('eE')}{luck.choice(['', '+', '-'])}{luck.randint(0, 12)}"
        text = sign + number + luck.choice([luck.choice(SUFFIXES), luck.choice(SUFFIXES), exponent])
        if text.endswith("i") or abs(quantities.parse(text)) < CAP:
            yield text


@pytest.mark.timeout(60 + COUNT / 1000)
async def test_the_api_server_reads_the_same_in_a_quantity(world: World) -> None:
    source = numbers(random.Random(SEED))  # noqa: S311 - to be repeated, not secret
    texts = [text for text, _ in zip(source, range(COUNT), strict=False)]
    size = PER_DEVICE * DEVICES
    pages = [texts[first : first + size] for first in range(0, COUNT, size)]
    echoed = 0
    for page in pages:
        for text, answer in zip(page, await as_written_by_the_server(world.api, page), strict=True):
            assert quantities.parse(answer) == quantities.parse(text), f"{text} became {answer}"
            echoed += answer == text
            if answer != text:
                assert answer == canonical(text), f"{text} became {answer} (seed {SEED})"
    # What it takes to be canonical already it sends back unread, which proves little.
    assert echoed < COUNT / 2


async def test_what_is_no_quantity_to_us_is_none_to_the_api_server(world: World) -> None:
    answers = await asyncio.gather(
        *(as_written_by_the_server(world.api, [text]) for text in NO_NUMBERS),
        return_exceptions=True,
    )
    accepted = [
        text
        for text, answer in zip(NO_NUMBERS, answers, strict=True)
        if not isinstance(answer, Exception)
    ]
    assert accepted == []
    readable = [text for text in NO_NUMBERS if _is_read(text)]
    assert readable == []


async def as_written_by_the_server(api: Api, texts: list[str]) -> list[str]:
    """Devices have capacities of any size and fineness. Nothing is stored."""
    names = [f"a{number}" for number in range(len(texts))]
    pairs = [(name, {"value": text}) for name, text in zip(names, texts, strict=True)]
    devices = [
        {"name": f"d{first}", "capacity": dict(pairs[first : first + PER_DEVICE])}
        for first in range(0, len(pairs), PER_DEVICE)
    ]
    body: Object = {
        "metadata": {"name": "quantities"},
        "spec": {
            "driver": "example.com",
            "pool": {"name": "all", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "anywhere",
            "devices": devices,
        },
    }
    answer = await api.request("POST", PATH, query={"dryRun": "All"}, body=body)
    found = {
        name: capacity["value"]
        for device in answer["spec"]["devices"]
        for name, capacity in device["capacity"].items()
    }
    return [found[name] for name in names]


def _is_read(text: str) -> bool:
    try:
        quantities.parse(text)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------------- the canonical form


def canonical(text: str) -> str:
    """By the rules of the API's documentation: no fraction, the largest suffix that is exact."""
    value = quantities.parse(text)
    if not value:
        return "0"
    if text.endswith("i") and value.denominator == 1 and abs(value) >= 1024:
        return _with_largest(
            value, [(1024**power, unit) for power, unit in enumerate(["", *BINARY])]
        )
    decimal = [(Fraction(1000) ** power, 3 * power) for power in range(-3, 30)]
    number, exponent = _split(value, decimal)
    if "e" in text or ("E" in text and not text.endswith(("E", "Ei"))):
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{DECIMAL[exponent]}"


DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}


def _with_largest(value: Fraction, units: list[tuple[int, str]]) -> str:
    number, unit = max(
        ((value / size, unit) for size, unit in units if (value / size).denominator == 1),
        key=lambda pair: -abs(pair[0]),
    )
    return f"{number}{unit}"


def _split(value: Fraction, decimal: list[tuple[Fraction, int]]) -> tuple[int, int]:
    exact = [(value / size, exponent) for size, exponent in decimal]
    number, exponent = [pair for pair in exact if pair[0].denominator == 1][-1]
    return int(number), exponent
