"""From a file to what it says, or to all of its problems, in order of appearance."""

from collections.abc import Callable
from pathlib import Path as FilePath
from typing import BinaryIO, TypeVar

from rescheduler.documents import strict_yaml
from rescheduler.documents.places import Path, Place, quoted, rendered
from rescheduler.errors import ConfigurationError, Problem

T = TypeVar("T")

FileName = str | FilePath


def load_text(path: FileName, largest_bytes: int = strict_yaml.LARGEST_BYTES) -> str:
    """The text of a file, or as much of it as shows that it is too large.

    Raises:
        ConfigurationError: it cannot be read, or is no text.
    """
    try:
        with FilePath(path).open("rb") as file:
            return text_of(file, str(path), largest_bytes)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        raise _unreadable(error, str(path)) from error


def text_of(file: BinaryIO, source: str, largest_bytes: int = strict_yaml.LARGEST_BYTES) -> str:
    """The same of one that is open."""
    try:
        # One byte more than allowed shows that it is too large, however large it is.
        content = file.read(largest_bytes + 1)
    except OSError as error:
        raise _unreadable(error, source) from error
    try:
        # The size is checked before the last, perhaps cut, character is decoded.
        cut = len(content) > largest_bytes
        return content.decode("utf-8", "replace" if cut else "strict")
    except UnicodeDecodeError as error:
        message = f"not UTF-8 text, from byte {error.start + 1} on"
        raise ConfigurationError([Problem("", message)], source) from error


def _unreadable(error: Exception, source: str) -> ConfigurationError:
    reason = getattr(error, "strerror", None) or error
    return ConfigurationError([Problem("", f"cannot be read: {reason}")], source)


def _in_the_document(_: Path) -> str:
    return ""


def parse(
    text: str,
    source: str,
    read: Callable[[Place], T | None],
    origin: Callable[[Path], str] = _in_the_document,
    largest_bytes: int = strict_yaml.LARGEST_BYTES,
) -> T:
    """What `read` makes of the one document of the text; `source` names it in the error, and
    `origin` where else a problem is from.

    Raises:
        ConfigurationError: it has problems; all of them are told, in order of appearance.
    """
    try:
        tree = strict_yaml.read(text, largest_bytes)
    except strict_yaml.UnreadableYamlError as error:
        raise ConfigurationError([error.problem], source) from error
    return _read(tree, source, read, origin)


def settle(
    read: Callable[[Place], T | None], source: str, origin: Callable[[Path], str] = _in_the_document
) -> T:
    """The same where there is no document."""
    return _read(strict_yaml.Tree(None, {}, []), source, read, origin)


def _read(
    tree: strict_yaml.Tree,
    source: str,
    read: Callable[[Place], T | None],
    origin: Callable[[Path], str],
) -> T:
    result = read(Place(tree.value, (), tree.findings))
    if tree.findings or result is None:
        raise ConfigurationError(_in_order(tree, origin), source)
    return result


def check_type(place: Place, accepted: list[str]) -> None:
    """Of `apiVersion` or `kind`: it is there, and one of these."""
    wanted = " or ".join(map(quoted, accepted))
    if place.value is None:
        place.refuse(f"missing; expected {wanted}")
    elif place.value not in accepted:
        place.expected(wanted)


def _in_order(tree: strict_yaml.Tree, origin: Callable[[Path], str]) -> list[Problem]:
    def position(finding: tuple[Path, str]) -> int:
        path, _ = finding
        while path and path not in tree.positions:  # A missing field counts where it should be.
            path = path[:-1]
        return tree.positions.get(path, 0)

    return [
        Problem(rendered(path), message, origin(path))
        for path, message in sorted(tree.findings, key=position)
    ]
