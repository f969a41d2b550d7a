"""A snapshot -> a file, laid out as kubectl would print it, one object a line."""

import gzip
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from rescheduler import __version__
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.files.errors import UnusableFile
from rescheduler.observe.files.exporting import each_object
from rescheduler.observe.files.header import FORMAT, Header, SavedGap
from rescheduler.observe.files.usage import each_metric
from rescheduler.wire import NODES, PODS

STANDARD_OUTPUT: Final = "-"
# Objects are much alike: more effort than this takes longer and gains little.
_EFFORT: Final = 4

# Keys in order, so that the same cluster gives the same file.
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


def save(name: str, snapshot: Snapshot, *, taken_at: str = "") -> None:
    """As a whole or not at all: who reads the file meanwhile sees the one that was there before.

    Compressed when the name ends in .gz; `-` is standard output. Raises UnusableFile.
    """
    header = _header(snapshot, taken_at)
    with _words_for_problems(name):
        if name == STANDARD_OUTPUT:
            if sys.stdout is None:
                raise UnusableFile(name, "standard output is closed")
            _write(sys.stdout.buffer, header, snapshot)
            sys.stdout.buffer.flush()
            return
        with _replacing(Path(name)) as stream, _packing(name, stream) as packed:
            _write(packed, header, snapshot)


def _header(snapshot: Snapshot, taken_at: str) -> Header:
    usage = snapshot.measured
    missing = {gap.source for gap in snapshot.gaps}
    seen = {NODES.plural, PODS.plural, *snapshot.objects} - missing
    return Header(
        format=FORMAT,
        version=__version__,
        taken_at=taken_at,
        sources=sorted(seen),
        gaps=[
            SavedGap(
                source=gap.source,
                reason=gap.reason,
                forbidden=gap.forbidden,
                left_out=gap.left_out,
            )
            for gap in snapshot.gaps
        ],
        unreadable=list(snapshot.unreadable),
        usage_source=usage.source if usage else "",
    )


def _write(stream: BinaryIO, header: Header, snapshot: Snapshot) -> None:
    stream.write(b'{\n"apiVersion": "v1",\n"kind": "List",\n"rescheduler": ')
    stream.write(_encode(header) + b',\n"items": [')
    between = b"\n"
    for each in _all(snapshot):
        stream.write(between + _encode(each))
        between = b",\n"
    stream.write(b"\n]\n}\n")


def _all(snapshot: Snapshot) -> Iterator[Any]:
    yield from each_object(snapshot)
    yield from each_metric(snapshot)


# ------------------------------------------------------------------ the file


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    path = path.resolve()  # of a link, what it leads to is written
    if path.exists() and not path.is_file():
        raise UnusableFile(str(path), "it is there and is no file; name another one")
    # For the owner only: names and labels are nobody else's business.
    number, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(number)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise


@contextmanager
def _packing(name: str, stream: BinaryIO) -> Iterator[BinaryIO]:
    if not name.endswith(".gz"):
        yield stream
        return
    # Without name and time of day, so that the same cluster gives the same file.
    with (
        gzip.GzipFile("", "wb", compresslevel=_EFFORT, fileobj=stream, mtime=0) as packed,
        io.BufferedWriter(packed, 2**20) as buffered,
    ):
        yield buffered


@contextmanager
def _words_for_problems(name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UnusableFile(name, "its folder is not there; make it first") from None
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise UnusableFile(name, f"it cannot be written: {problem.strerror or problem}") from None
