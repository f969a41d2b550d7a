"""A file's bytes -> its objects, still encoded, one after the other.

Files of large clusters are read line by line, as we and kubectl write them, so that they never are
in memory as a whole. That is safe with any JSON: within a string there is no end of a line. What is
laid out in another way is read at once.
"""

import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec

from rescheduler.observe.files.errors import UnusableFile

STANDARD_INPUT: Final = "-"
_EXPECTED: Final = (
    "expected what `rescheduler snapshot save` or `kubectl get nodes,pods,... -A -o json` writes"
)
_GZIP: Final = b"\x1f\x8b"
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_YAML: Final = re.compile(rb"\s*(?:---|#|[A-Za-z]+:)")
_ITEM: Final = re.compile(rb"([ \t]*)\{")
_LONGEST_HEAD: Final = 2**24
_BUFFER: Final = 2**20


class Document(msgspec.Struct):
    """A file without its objects: all of it, or what stands before them."""

    kind: str = ""
    apiVersion: str = ""  # noqa: N815 - as in JSON
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET
    """An empty list may be null."""
    rescheduler: msgspec.Raw = msgspec.Raw(b"")
    """What a file of ours says of itself; empty in those of others."""


Take = Callable[[Document, bytes | msgspec.Raw], None]
"""Is handed each object, with what is known of the file so far."""


class OtherLayout(Exception):
    """It takes the whole file to understand it."""


decode: Final = msgspec.json.Decoder(Document).decode


def read(name: str, take: Take) -> Document:
    """Hands on every object, some of them twice, and in the end what the file says of itself."""
    with _words_for_problems(name):
        source = _source(name)
        with _opened(source) as stream:
            try:
                return _read_lines(stream, take)
            except OtherLayout:
                pass
        return _read_at_once(_content(source), take)


# ------------------------------------------------------------------ opening


def _source(name: str) -> Path | bytes:
    """What can be read twice: of a pipe, its content."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise _Unsuited(f"standard input is closed; {_EXPECTED}")
        return sys.stdin.buffer.read()
    path = Path(name)
    return path.read_bytes() if path.is_fifo() or path.is_char_device() else path


@contextmanager
def _opened(source: Path | bytes) -> Iterator[BinaryIO]:
    with io.BufferedReader(_raw(source), _BUFFER) as stream:
        if stream.peek(2).startswith(_GZIP):
            with (
                gzip.GzipFile(fileobj=stream) as unpacked,
                io.BufferedReader(cast("io.RawIOBase", unpacked), _BUFFER) as lines,
            ):
                yield lines
        else:
            yield stream


def _content(source: Path | bytes) -> bytes:
    with _opened(source) as stream:
        packed = isinstance(cast("io.BufferedReader", stream).raw, gzip.GzipFile)
        if packed or isinstance(source, bytes):
            return stream.read()
    return source.read_bytes()  # a buffered stream would copy it


def _raw(source: Path | bytes) -> Any:  # noqa: ANN401
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb", buffering=0)


@contextmanager
def _words_for_problems(name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UnusableFile(name, f"there is no such file; {_EXPECTED}") from None
    except IsADirectoryError:
        raise UnusableFile(name, f"it is a directory; {_EXPECTED}") from None
    except EOFError:
        problem = "it is incomplete: the compressed data ends too early; save or copy it again"
        raise UnusableFile(name, problem) from None
    except (gzip.BadGzipFile, zlib.error) as problem:
        raise UnusableFile(name, f"it is damaged: {problem}; save or copy it again") from None
    except OSError as problem:
        raise UnusableFile(name, f"it cannot be read: {problem.strerror or problem}") from None
    except (msgspec.DecodeError, RecursionError) as problem:
        raise UnusableFile(name, f"it cannot be understood: {problem}; {_EXPECTED}") from None
    except _Unsuited as problem:
        raise UnusableFile(name, str(problem)) from None


class _Unsuited(Exception):
    """In words."""


# ------------------------------------------------------------------ line by line


def _read_lines(stream: BinaryIO, take: Take) -> Document:
    head, before = _read_head(stream)
    indent: bytes | None = None
    line = stream.readline()
    while not line.lstrip().startswith(b"]"):
        found = _ITEM.match(line)
        if found is None or indent not in (None, found[1]):
            raise OtherLayout
        indent = found[1]
        item, ended = _rest_of_item(stream, line, indent)
        try:
            take(before, item)
        except msgspec.DecodeError:
            raise OtherLayout from None
        line = stream.readline()
        if ended == line.lstrip().startswith(b"{"):
            raise OtherLayout  # a comma too many, or one too few
    return decode(head + line + stream.read())


def _read_head(stream: BinaryIO) -> tuple[bytes, Document]:
    head = b""
    while len(head) < _LONGEST_HEAD and (line := stream.readline(_LONGEST_HEAD)):
        head += line
        if line.strip() == b'"items": [':
            try:
                return head, decode(head + b"]}")  # and so they are the file's own
            except msgspec.DecodeError:
                break
    raise OtherLayout


def _rest_of_item(stream: BinaryIO, line: bytes, indent: bytes) -> tuple[bytes, bool]:
    """The item that begins with this line, and whether it is the last one."""
    lines, end = [line], line
    if line.strip() == b"{":
        closing = indent + b"}"
        for end in stream:
            lines.append(end)
            if end.startswith(closing):
                break
    item = b"".join(lines).strip()
    return item.removesuffix(b","), not end.rstrip().endswith(b",")


# ------------------------------------------------------------------ at once


def _read_at_once(text: bytes, take: Take) -> Document:
    text = text.removeprefix(_UTF8_MARK)
    _refuse_other_formats(text)
    document = decode(text)
    if document.items is msgspec.UNSET:
        raise _Unsuited(f"it is a {document.kind or 'document without items'}; {_EXPECTED}")
    try:
        for item in document.items or ():
            take(document, item)
    except OtherLayout:
        raise _Unsuited(f"neither it nor an item of it says its kind; {_EXPECTED}") from None
    return document


def _refuse_other_formats(text: bytes) -> None:
    if not text or text.isspace():
        raise _Unsuited(f"it is empty; {_EXPECTED}")
    if text.startswith(_UTF16_MARKS):
        raise _Unsuited(
            "it is in UTF-16, as PowerShell writes it; write it with `| Out-File -Encoding utf8`"
        )
    if _YAML.match(text):
        raise _Unsuited("it is not JSON but looks like YAML; ask kubectl for -o json")
