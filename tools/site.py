"""Puts onto the site (`make docs`) what pages link to outside of docs/, so that a link to a
manifest or to the changelog leads somewhere on the site and where the repository is browsed.

MkDocs calls the functions whose names begin with `on_` (`hooks` in mkdocs.yml). A link that leads
nowhere is a warning, and with --strict an error.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = PurePosixPath("docs")
BESIDE: Final = PurePosixPath("repository")
"""The folder of the site for what is not in docs/."""

_LOG = logging.getLogger("mkdocs.hooks.site")
_CODE: Final = re.compile(r"(^```.*?^```$|`[^`\n]+`(?!\]))", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)(#[^)]*)?(\))")
_LANGUAGES: Final = {".yaml": "yaml", ".json": "json", ".toml": "toml", ".py": "python"}
_UNLISTED: Final = "---\nsearch:\n  exclude: true\n---\n"


def links(text: str) -> Iterator[str]:
    """To other files, without those in code."""
    for part in _CODE.split(text)[::2]:
        yield from (found[2] for found in _LINK.finditer(part) if _is_ours(found[2]))


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - MkDocs's, without types
    """All that is linked to, and what that links to."""
    pages = [DOCS / file.src_uri for file in files.documentation_pages()]
    waiting = [PurePosixPath("README.md"), PurePosixPath("README.zh-CN.md")]
    waiting += [each for page in pages for each in _beside(page, (ROOT / page).read_text())]
    done: set[PurePosixPath] = set()
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        done.add(path)
        text = _page(path)
        files.append(File.generated(config, str(_on_site(path)), content=text))
        waiting += _beside(path, text)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401
    uri = PurePosixPath(page.file.src_uri)
    here = _in_repository(uri)

    def rewritten(found: re.Match[str]) -> str:
        target = found[2]
        if not _is_ours(target):
            return found[0]
        path = _resolved(here, target)
        if not (ROOT / path).exists():
            _LOG.warning("%s links to %s, which is not there", here, target)
            return found[0]
        to = os.path.relpath(_on_site(path), uri.parent)
        return f"{found[1]}{to}{found[3] or ''}{found[4]}"

    return _outside_code(markdown, lambda text: _LINK.sub(rewritten, text))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts = _CODE.split(text)
    parts[::2] = [change(part) for part in parts[::2]]
    return "".join(parts)


def _is_ours(target: str) -> bool:
    return "://" not in target and not target.startswith("mailto:")


def _beside(page: PurePosixPath, text: str) -> list[PurePosixPath]:
    """What is linked to outside of docs/."""
    found = [_resolved(page, target) for target in links(text)]
    return [each for each in found if each.parts[:1] != DOCS.parts and (ROOT / each).exists()]


def _resolved(page: PurePosixPath, target: str) -> PurePosixPath:
    """Of a listing of a folder links are relative to that folder."""
    folder = page if (ROOT / page).is_dir() else page.parent
    return PurePosixPath(os.path.normpath(folder / target))


def _page(path: PurePosixPath) -> str:
    """A file as it stands, or a list of what is in a folder."""
    file = ROOT / path
    if file.is_dir():
        names = sorted(each.name for each in file.iterdir() if not each.name.startswith("."))
        return f"{_UNLISTED}# {path}\n\n" + "".join(f"- [{each}]({each})\n" for each in names)
    if path.suffix == ".md":
        return file.read_text()
    fence = f"``````{_LANGUAGES.get(path.suffix, 'text')}\n{file.read_text()}``````\n"
    return f"{_UNLISTED}# {path}\n\n{fence}"


def _on_site(path: PurePosixPath) -> PurePosixPath:
    if path.parts[:1] == DOCS.parts:
        return path.relative_to(DOCS)
    if (ROOT / path).is_dir():
        return BESIDE / path / "index.md"
    return BESIDE / path.with_name(path.name.removesuffix(".md") + ".md")


def _in_repository(uri: PurePosixPath) -> PurePosixPath:
    """The way back."""
    if uri.parts[0] != BESIDE.name:
        return DOCS / uri
    path = uri.relative_to(BESIDE)
    if path.name == "index.md":
        return path.parent
    return path if (ROOT / path).exists() else path.with_suffix("")
