"""The page as files of the package: made by `make dashboard`, and part of every wheel."""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "page"
_INDEX: Final = "index.html"
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"
_HASHED: Final = "assets/"
"""Below which a name changes with what is in the file."""
_WORTH_IT: Final = 512
_MISSING: Final = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>kube-rescheduler</title></head><body>
<h1>kube-rescheduler</h1>
<p>This installation has the API of the dashboard, and not the page: it was not built.
Run <code>make dashboard</code> in a checkout, or install a released wheel.</p>
<p>The API answers: <a href="api/v1alpha1/overview">overview</a>,
<a href="api/v1alpha1/openapi.json">its description</a>.</p>
</body></html>
"""
_TYPES: Final = {".js": "text/javascript", ".woff2": "font/woff2", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class PageFile:
    body: bytes
    compressed: bytes | None
    """None: that would not be shorter."""
    content_type: str
    etag: str
    cache: str


class PageFiles:
    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[str, PageFile] | None = None

    def find(self, path: str) -> PageFile | None:
        """By the path below the page; views of the page are one segment without a suffix."""
        files = self._loaded()
        name = path.strip("/")
        is_view = "/" not in name and "." not in name
        return files.get(_INDEX) if is_view else files.get(name)

    def _loaded(self) -> dict[str, PageFile]:
        if self._files is None:
            found = {
                path.relative_to(self._folder).as_posix(): path
                for path in sorted(self._folder.rglob("*"))
                if path.is_file() and not path.is_symlink()
            }
            self._files = {name: _read(name, path.read_bytes()) for name, path in found.items()}
            self._files.setdefault(_INDEX, _read(_INDEX, _MISSING))
        return self._files


def _read(name: str, body: bytes) -> PageFile:
    suffix = Path(name).suffix
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    is_text = kind.startswith("text/") or kind in ("application/json", "image/svg+xml")
    shorter = gzip.compress(body, 9, mtime=0) if is_text and len(body) > _WORTH_IT else body
    return PageFile(
        body=body,
        compressed=shorter if len(shorter) < len(body) else None,
        content_type=f"{kind}; charset=utf-8" if is_text else kind,
        etag=f'"{hashlib.sha256(body).hexdigest()[:24]}"',
        cache=_FOR_EVER if name.startswith(_HASHED) else _ASK_AGAIN,
    )
