"""The only door to Prometheus: queries of now and of the past, and answers as columns of numbers.

In: PromQL, and the labels that name what a series is about. Out: a `Vector` or `Course`s, or a
`PrometheusError` in words for the operator. What does not belong here: any opinion about the
figures.
"""

import asyncio
import base64
import math
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import msgspec
import numpy as np
import numpy.typing as npt

from rescheduler import __version__
from rescheduler.config import PrometheusSettings
from rescheduler.errors import ReschedulerError

_LARGEST_ANSWER: Final = 128 * 1024 * 1024
"""In bytes: several times what the figures of the largest cluster take."""
_AT_ONCE: Final = 1000
_LONGEST_FILE: Final = 64 * 1024
_LONGEST_QUOTE: Final = 300


class PrometheusError(ReschedulerError):
    """No figures: it does not answer, or refuses, or says something else than figures."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vector:
    """One value for each thing, as Prometheus told them: NaN and nonsense included."""

    who: npt.NDArray[np.int64]
    """What each value is about; none twice, as things with several series are left out."""
    values: npt.NDArray[np.float64]
    at: float
    """When the query was evaluated, in Unix seconds by the clock of Prometheus."""
    findings: Mapping[str, str] = field(default_factory=dict)
    """What was left out or looks wrong: by kind of problem, in words, with a count and an example.
    """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """What one series was at several times."""

    name: str
    """Its labels, joined by `/`."""
    at: npt.NDArray[np.float64]
    """In Unix seconds."""
    values: npt.NDArray[np.float64]


@asynccontextmanager
async def connect(settings: PrometheusSettings) -> AsyncIterator["Prometheus"]:
    # Neither proxies nor credentials are taken from the environment: what we send may be secret.
    async with aiohttp.ClientSession(
        trust_env=False, headers={"User-Agent": f"kube-rescheduler/{__version__}"}
    ) as session:
        yield Prometheus(session, settings)


class Prometheus:
    def __init__(self, session: aiohttp.ClientSession, settings: PrometheusSettings) -> None:
        self._session = session
        self._settings = settings
        self._trust: tuple[float, ssl.SSLContext] | None = None

    async def query(
        self,
        query: str,
        labels: Sequence[str],
        *,
        identify: Callable[[str], int],
        oldest_seconds: float,
    ) -> Vector:
        """Evaluate the query now, over samples that are not older than given.

        `identify` gets the labels of each series, joined by `/`.
        """
        seconds = self._settings.timeout_seconds
        told = await self._ask(
            "query",
            {
                "query": query,
                # Else it would go on computing what nobody waits for.
                "timeout": f"{math.ceil(seconds * 1000)}ms",
                "lookback_delta": f"{math.ceil(oldest_seconds)}s",
            },
        )
        return await _vector(told, labels, identify)

    async def query_range(
        self, query: str, labels: Sequence[str], *, begin: float, end: float, step_seconds: float
    ) -> list[Course]:
        """Evaluate the query as of times in the past: `begin`, and in steps until `end`. Series
        that lack one of the labels are left out.
        """
        seconds = self._settings.timeout_seconds
        told = await self._ask(
            "query_range",
            {
                "query": query,
                "timeout": f"{math.ceil(seconds * 1000)}ms",
                "start": f"{begin:.3f}",
                "end": f"{end:.3f}",
                "step": f"{step_seconds:g}s",
            },
        )
        return await _courses(told, labels)

    async def _ask(self, endpoint: str, form: Mapping[str, str]) -> "_Answer":
        try:
            async with self._session.post(
                f"{self._settings.url}/api/v1/{endpoint}",
                data=form,
                headers={"Accept": "application/json", **self._authorization()},
                timeout=aiohttp.ClientTimeout(total=self._settings.timeout_seconds),
                ssl=self._ssl(),
                allow_redirects=False,  # A redirect could carry our credentials elsewhere.
            ) as answer:
                return _told(answer, await _read(answer))
        except TimeoutError as problem:
            within = f"{self._settings.timeout_seconds:g} s"
            raise PrometheusError(f"no answer within {within} (usage.prometheus.timeout)") from (
                problem
            )
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            reason = str(problem) or type(problem).__name__
            raise PrometheusError(f"cannot be asked: {reason}") from problem

    def _authorization(self) -> dict[str, str]:
        """Fresh for every request: tokens and passwords are replaced while we run."""
        settings = self._settings
        if settings.token_file:
            token = _secret(settings.token_file, "tokenFile").strip()
            if not token or not token.isascii() or not token.isprintable():
                raise PrometheusError(
                    f"usage.prometheus.tokenFile {settings.token_file} holds no token in one line"
                )
            return {"Authorization": f"Bearer {token}"}
        if settings.basic_auth.username:
            password = _secret(settings.basic_auth.password_file, "basicAuth.passwordFile")
            pair = settings.basic_auth.username + ":" + password.rstrip("\r\n")
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        return {}

    def _ssl(self) -> ssl.SSLContext | bool:
        """With the authorities that the file holds now; connections last while it is the same."""
        path = self._settings.ca_file
        if not path:
            return True
        try:
            changed = Path(path).stat().st_mtime
            if not self._trust or self._trust[0] != changed:
                self._trust = changed, ssl.create_default_context(cafile=path)
        except OSError as problem:  # ssl.SSLError is one
            reason = problem.strerror or problem
            raise PrometheusError(
                f"usage.prometheus.caFile {path} cannot be used: {reason}"
            ) from problem
        return self._trust[1]


def _secret(path: str, setting: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LONGEST_FILE).decode()
    except (OSError, ValueError) as problem:
        # Not the text of the problem: that of decoding shows a part of the secret.
        reason = getattr(problem, "strerror", None) or "not UTF-8 text"
        raise PrometheusError(f"usage.prometheus.{setting} {path} cannot be read: {reason}") from (
            None
        )


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > _LARGEST_ANSWER:
            raise PrometheusError(
                f"its answer is larger than {_LARGEST_ANSWER} bytes; let the query give one series "
                "for each node or pod, with no other labels"
            )
    return bytes(body)


# ---------------------------------------------------------------------- what it says


class _Answer(msgspec.Struct, rename="camel", gc=False):
    status: str = ""
    error_type: str = ""
    error: str = ""
    warnings: list[str] = []
    data: msgspec.Raw = msgspec.Raw(b"{}")


class _Data(msgspec.Struct, rename="camel", gc=False):
    result_type: str = ""
    # One after the other, as all at once they would take several times their text.
    result: list[msgspec.Raw] = []


class _Series(msgspec.Struct, gc=False):
    metric: dict[str, str]
    value: tuple[float, str]


class _Values(msgspec.Struct, gc=False):
    metric: dict[str, str]
    values: list[tuple[float, str]]


_ANSWER: Final = msgspec.json.Decoder(_Answer)
_DATA: Final = msgspec.json.Decoder(_Data)
_SERIES: Final = msgspec.json.Decoder(_Series)
_VALUES: Final = msgspec.json.Decoder(_Values)


def _told(answer: aiohttp.ClientResponse, body: bytes) -> _Answer:
    """Refuses what is no answer to a query."""
    status = answer.status
    if 300 <= status < 400:  # noqa: PLR2004 - redirects
        target = answer.headers.get("Location", "").split("?")[0]
        where = f" to {target}" if target and "@" not in target else ""
        raise PrometheusError(
            f"redirects us{where}, where we do not follow: name that address as "
            "usage.prometheus.url"
        )
    if status in (401, 403):
        raise PrometheusError(
            f"does not accept our credentials (HTTP {status}): check usage.prometheus.tokenFile or "
            "basicAuth"
        )
    try:
        told = _ANSWER.decode(body)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise PrometheusError(
            f"answers with something else than its API gives (HTTP {status}, "
            f"{answer.content_type}): check usage.prometheus.url"
        ) from problem
    if told.status == "error":
        raise PrometheusError(f"refuses: {told.error_type}: {_shortened(told.error)}")
    if status != 200 or told.status != "success":  # noqa: PLR2004
        raise PrometheusError(f"answers with HTTP {status} and status {_shortened(told.status)!r}")
    return told


def _data(told: _Answer, wanted: str, advice: str) -> _Data:
    try:
        data = _DATA.decode(told.data)
    except msgspec.MsgspecError as problem:
        raise PrometheusError(f"answers with no result: {problem}") from problem
    if data.result_type != wanted:
        raise PrometheusError(f"answers with a {_shortened(data.result_type)}: {advice}")
    return data


async def _courses(told: _Answer, labels: Sequence[str]) -> list[Course]:
    found = []
    data = _data(told, "matrix", "the query has to give one series for each workload")
    for number, raw in enumerate(data.result, start=1):
        try:
            series = _VALUES.decode(raw)
            points = np.array([(at, float(value)) for at, value in series.values], np.float64)
        except (msgspec.MsgspecError, ValueError) as problem:
            raise PrometheusError(f"answers with what is no series: {problem}") from problem
        names = [series.metric.get(label, "") for label in labels]
        if all(names) and len(points):
            found.append(Course(name="/".join(names), at=points[:, 0], values=points[:, 1]))
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return found


async def _vector(told: _Answer, labels: Sequence[str], identify: Callable[[str], int]) -> Vector:
    data = _data(told, "vector", "the query has to give a vector, one value for each node or pod")
    reader = _Reader(labels, identify, len(data.result))
    for number, raw in enumerate(data.result, start=1):
        reader.read(raw)
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)  # Others want to go on meanwhile.
    for warning in told.warnings:
        reader.note("warning", _shortened(warning))
    return reader.vector()


class _Reader:
    def __init__(self, labels: Sequence[str], identify: Callable[[str], int], most: int) -> None:
        self._labels = labels
        self._identify = identify
        self._who = np.empty(most, np.int64)
        self._values = np.empty(most)
        self._count = 0
        self._at = 0.0
        self._notes: dict[str, tuple[int, str]] = {}

    def read(self, raw: msgspec.Raw) -> None:
        try:
            series = _SERIES.decode(raw)
            value = float(series.value[1])
        except (msgspec.MsgspecError, ValueError):
            self.note("unreadable series", _shortened(bytes(raw).decode(errors="replace")))
            return
        names = [series.metric.get(label, "") for label in self._labels]
        if not all(names):
            label = self._labels[names.index("")]
            self.note("missing label", f"{label!r} of {_shortened(str(series.metric))}")
            return
        name = "/".join(names)
        if not math.isfinite(value) or value < 0:
            self.note("impossible value", f"{value} of {name}")
        self._who[self._count] = self._identify(name)
        self._values[self._count] = value
        self._count += 1
        self._at = max(self._at, series.value[0])

    def note(self, kind: str, example: str) -> None:
        count, first = self._notes.get(kind, (0, example))
        self._notes[kind] = count + 1, first

    def vector(self) -> Vector:
        findings = {
            kind: f"{kind}: {count}, such as {example}"
            for kind, (count, example) in self._notes.items()
        }
        who, values = self._who[: self._count], self._values[: self._count]
        different, first, counts = np.unique(who, return_index=True, return_counts=True)
        if len(different) < len(who):
            # Which of them is right, and whether to add them up, only the query can say.
            several = np.count_nonzero(counts > 1)
            findings["several series"] = (
                f"{several} of them with several series, which are left out: let the query add "
                f"them up, as in sum by ({', '.join(self._labels)}) (...)"
            )
            kept = np.sort(first[counts == 1])
            who, values = who[kept], values[kept]
        return Vector(who=who, values=values, at=self._at, findings=findings)


def _shortened(text: str) -> str:
    """Something that a server said, on one line."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    return plain if len(plain) <= _LONGEST_QUOTE else plain[:_LONGEST_QUOTE] + "..."
