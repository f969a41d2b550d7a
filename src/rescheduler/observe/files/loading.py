"""Files -> snapshot: our own, and what kubectl prints."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import msgspec

from rescheduler import wire
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.model.usage_sources import METRICS_SERVER
from rescheduler.observe import sources
from rescheduler.observe.files import reading
from rescheduler.observe.files.errors import UnusableFile, UnusableFiles
from rescheduler.observe.files.exporting import BY_KIND
from rescheduler.observe.files.header import FORMAT, Format, Header
from rescheduler.observe.files.reading import Document
from rescheduler.observe.files.usage import METRICS, Metrics
from rescheduler.observe.state import ClusterState
from rescheduler.observe.state.pod_reading import FINISHED
from rescheduler.wire import POD_MIGRATIONS, PODS, Batch, Malformed, Resource, View

_BATCH: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    snapshot: Snapshot
    taken_at: str = ""
    """When it was taken, RFC 3339; empty when the files do not say."""
    notes: tuple[str, ...] = ()
    """What the reader of the result should know, in words."""
    ended_pods: int = 0
    """Succeeded or failed, in the files: a snapshot has none of them."""


def load(*names: str) -> Loaded:
    """From one file, or from several that together are one cluster; `-` is standard input.

    Raises UnusableFile. An object that cannot be read is no reason: it is told in the snapshot.
    """
    state, metrics = ClusterState(), Metrics()
    files = _load_all(names, state, metrics)
    for each in {resource for file in files for resource in file.sources()}:
        state.take(each, Batch(complete=True))
    snapshot = state.snapshot()
    if not snapshot.nodes:
        raise UnusableFile(
            ", ".join(names),
            "there is no node in it; ask kubectl for nodes, pods and all others at once: "
            f"kubectl get {','.join(_ASKED)} -A -o json",
        )
    taken_at = min((file.header.taken_at for file in files if file.header), default="")
    return Loaded(
        snapshot=replace(
            snapshot,
            taken_at=_seconds(taken_at),
            usage=metrics.usage(snapshot, _usage_source(files)),
            gaps=tuple(_gaps(files)),
            unreadable=tuple(sorted({*snapshot.unreadable, *_unreadable(files)})),
        ),
        taken_at=taken_at,
        notes=tuple(_notes(files, snapshot)),
        ended_pods=len(set[str]().union(*(file.ended_pods for file in files))),
    )


def _seconds(taken_at: str) -> float:
    try:
        return datetime.fromisoformat(taken_at).timestamp()
    except ValueError:
        return 0.0  # the file does not say, or somebody has edited it


_ASKED: Final = tuple(each.plural for each in sources.ALL if each != POD_MIGRATIONS)


# ------------------------------------------------------------------ one file


@dataclass(slots=True)
class _File:
    name: str
    kinds: set[Resource] = field(default_factory=set)
    """Of which there is an object in it."""
    ignored: Counter[str] = field(default_factory=Counter)
    ended_pods: set[str] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)
    """What could not be said to be of a kind that the state knows."""
    header: Header | None = None

    def sources(self) -> set[Resource]:
        """What it tells all about."""
        said = self.header.sources if self.header else ()
        return self.kinds | {sources.BY_NAME[each] for each in said if each in sources.BY_NAME}


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Item(msgspec.Struct):
    """What has to be known of an object in order to read it."""

    kind: str = ""
    apiVersion: str = ""  # noqa: N815 - as in JSON


class _Named(msgspec.Struct):
    metadata: _Metadata


_decode_item: Final = msgspec.json.Decoder(_Item).decode
_decode_name: Final = msgspec.json.Decoder(_Named).decode


def _load_all(names: Iterable[str], state: ClusterState, metrics: Metrics) -> list[_File]:
    files, problems = [], []
    for name in names:
        try:
            files.append(_load_one(name, state, metrics))
        except UnusableFile as problem:
            problems.append(problem)
    if problems:
        raise problems[0] if len(problems) == 1 else UnusableFiles(problems)
    return files


def _load_one(name: str, state: ClusterState, metrics: Metrics) -> _File:
    loader = _Loader(name, state, metrics)
    document = reading.read(name, loader.take)
    loader.flush()
    loader.file.header = _header(name, document.rescheduler)
    return loader.file


def _header(name: str, raw: msgspec.Raw) -> Header | None:
    if not bytes(raw):
        return None
    try:
        said = msgspec.json.decode(raw, type=Format)
        if said.format > FORMAT:
            raise UnusableFile(
                name,
                f"it is of format {said.format}, written by version {said.version}, and this "
                f"program knows formats up to {FORMAT}; read it with a newer version",
            )
        return msgspec.json.decode(raw, type=Header)
    except msgspec.ValidationError as problem:
        raise UnusableFile(name, f"its part `rescheduler` is odd: {problem}") from None


class _Loader:
    def __init__(self, name: str, state: ClusterState, metrics: Metrics) -> None:
        self.file = _File(name)
        self._state = state
        self._metrics = metrics
        self._document: Document | None = None
        self._views: dict[Resource, list[View]] = {}
        self._items = 0

    def take(self, document: Document, raw: bytes | msgspec.Raw) -> None:
        if document is not self._document:
            # Begun, or begun anew: what was taken before comes again.
            self._document, self._items, self.file = document, 0, _File(self.file.name)
        self._items += 1
        self._take_item(document, raw)

    def _take_item(self, document: Document, raw: bytes | msgspec.Raw) -> None:
        try:
            item = _decode_item(raw)
        except (msgspec.ValidationError, RecursionError) as problem:
            self.file.unreadable.append(f"{self._name(raw)}: {problem}")
            return
        kind, version = _kind_in(document, item)
        if (metric := METRICS.get((version, kind))) is not None:
            self._take_metric(metric, raw)
        elif (resource := BY_KIND.get((version, kind))) is not None:
            self._take_object(resource, raw)
        elif (within := _list_in(kind, raw)) is not None:
            for each in within.items or ():
                self._take_item(within, each)
        else:
            self.file.ignored[_called(version, kind)] += 1

    def _take_metric(self, resource: Resource, raw: bytes | msgspec.Raw) -> None:
        try:
            self._metrics.add(resource, wire.decode(resource, raw))
        except ValueError as problem:
            self.file.unreadable.append(f"metrics of {self._name(raw)}: {problem}")

    def _take_object(self, resource: Resource, raw: bytes | msgspec.Raw) -> None:
        self.file.kinds.add(resource)
        try:
            view = wire.decode(resource, raw)
            if not view.metadata.name:
                raise ValueError("it has no name")  # noqa: TRY301 - it is noted like all others
        except ValueError as problem:
            self.flush()  # it may be there twice: the last is how it is
            malformed = Malformed(self._name(raw), str(problem))
            self._state.take(resource, Batch(malformed=[malformed]))
            return
        if resource == PODS and view.status.phase in FINISHED:
            self.file.ended_pods.add(self._name(raw))
        views = self._views.setdefault(resource, [])
        views.append(view)
        if len(views) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        for resource, views in self._views.items():
            self._state.take(resource, Batch(present=views))
        self._views = {}

    def _name(self, raw: bytes | msgspec.Raw) -> str:
        return _name(raw) or f"items[{self._items - 1}]"


def _kind_in(document: Document, item: _Item) -> tuple[str, str]:
    """Of an item, and its version. In a PodList, the items have neither."""
    if item.kind:
        return item.kind, item.apiVersion
    if not document.kind:
        raise reading.OtherLayout
    return document.kind.removesuffix("List"), document.apiVersion


def _list_in(kind: str, raw: bytes | msgspec.Raw) -> Document | None:
    """One among the items of another, as some who put files together make them."""
    if not kind.endswith("List"):
        return None
    try:
        document = reading.decode(raw)
    except (msgspec.ValidationError, RecursionError):
        return None
    return None if document.items is msgspec.UNSET else document


def _called(version: str, kind: str) -> str:
    """As people know it; with its version where we know the kind in another one."""
    known = any(kind == each for _, each in BY_KIND)
    return f"{kind} of {version}" if known else kind or "of no kind"


def _name(raw: bytes | msgspec.Raw) -> str:
    try:
        metadata = _decode_name(raw).metadata
    except (ValueError, RecursionError):
        return ""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


# ------------------------------------------------------------------ all files together


def _gaps(files: Sequence[_File]) -> Iterable[Gap]:
    told = {
        each.source: Gap(
            source=each.source,
            reason=each.reason,
            forbidden=each.forbidden,
            left_out=each.left_out,
        )
        for file in files
        if file.header
        for each in file.header.gaps
    }
    seen = {resource for file in files for resource in file.sources()}
    what = "the file has" if len(files) == 1 else "the files have"
    for resource in sorted(sources.ALL, key=lambda each: each.plural):
        name = resource.plural
        if name in told:
            yield told[name]
        # Most clusters have no migrations, and kubectl no way to say so.
        elif resource not in seen and resource != POD_MIGRATIONS:
            yield Gap(source=name, reason=f"{what} no {name}", left_out=True)


def _usage_source(files: Sequence[_File]) -> str:
    said = (file.header.usage_source for file in files if file.header)
    return next(filter(None, said), METRICS_SERVER)


def _unreadable(files: Sequence[_File]) -> Iterable[str]:
    for file in files:
        yield from file.unreadable
        if file.header:
            yield from file.header.unreadable


def _notes(files: Sequence[_File], snapshot: Snapshot) -> Iterable[str]:
    ignored = sum((file.ignored for file in files), Counter[str]())
    if ignored:
        yield "ignored: " + ", ".join(f"{count} {kind}" for kind, count in sorted(ignored.items()))
    namespaces = {name.split("/", 1)[0] for name in snapshot.pods.names if name}
    if len(namespaces) == 1 and not any(file.header for file in files):
        yield (
            f"all pods are in namespace {namespaces.pop()}: if the cluster has others, "
            "ask kubectl again with -A"
        )
