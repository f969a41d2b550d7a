"""Looks at what `make release` has built: metadata, contents and bill of materials.

What is wrong ends it, in words, before anybody publishes anything.
"""

import json
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Final

from packaging.metadata import InvalidMetadata, Metadata
from packaging.utils import parse_sdist_filename, parse_wheel_filename

from rescheduler import __version__
from tools import bundled

MATERIALS: Final = "sbom.cdx.json"
_IN_THE_WHEEL: Final = (
    "rescheduler/crd.yaml",
    "rescheduler/plan-crd.yaml",
    "rescheduler/py.typed",
    "rescheduler/config/schema.json",
    "rescheduler/config/starting.yaml",
    "rescheduler/manifests/config.yaml",
    "rescheduler/manifests/deployment.yaml",
    "rescheduler/manifests/leaving-policy.yaml",
    "rescheduler/manifests/rbac.yaml",
    "rescheduler/manifests/steering-policy.yaml",
    "rescheduler/serve/dashboard/page/index.html",
    "rescheduler/serve/dashboard/page/licenses.md",
)
"""Without which `rescheduler install`, or users of its types or dashboard, would find out too late.
The page is of others' work, too, and says whose.
"""
_IN_THE_SDIST: Final = (
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "pyproject.toml",
    "src/rescheduler/serve/dashboard/page/index.html",
)


def problems(folder: Path) -> Iterator[str]:
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if (len(wheels), len(sdists)) != (1, 1):
        yield f"{len(wheels)} wheels and {len(sdists)} sdists in {folder}, not one of each"
        return
    [wheel], [sdist] = wheels, sdists
    for found in (parse_wheel_filename(wheel.name)[1], parse_sdist_filename(sdist.name)[1]):
        if str(found) != __version__:
            yield f"{found} was built, and not {__version__}"
    with zipfile.ZipFile(wheel) as archive:
        yield from _of_metadata(archive)
        yield from _of_contents(wheel.name, archive.namelist(), _IN_THE_WHEEL)
        ours = {"rescheduler", f"kube_rescheduler-{__version__}.dist-info"}
        strays = {name.partition("/")[0] for name in archive.namelist()} - ours
        for each in sorted(strays):
            yield f"{wheel.name} would install {each}, too"
    with tarfile.open(sdist) as archive_of_source:
        names = [each.partition("/")[2] for each in archive_of_source.getnames()]
        yield from _of_contents(sdist.name, names, _IN_THE_SDIST)
    yield from _of_materials(folder / MATERIALS)


def _of_metadata(archive: zipfile.ZipFile) -> Iterator[str]:
    text = PathDistribution(
        zipfile.Path(archive, f"kube_rescheduler-{__version__}.dist-info/")
    ).read_text("METADATA")
    try:
        told = Metadata.from_email(text or "", validate=True)
    except ExceptionGroup as group:
        for each in group.exceptions:
            field = each.field if isinstance(each, InvalidMetadata) else "metadata"
            yield f"{field}: {each}"
        return
    for name in ("summary", "description", "license_expression", "requires_python", "keywords"):
        if not getattr(told, name):
            yield f"the metadata has no {name}"


def _of_contents(archive: str, names: list[str], wanted: tuple[str, ...]) -> Iterator[str]:
    for each in wanted:
        if each not in names:
            yield f"{archive} lacks {each}"


def _of_materials(path: Path) -> Iterator[str]:
    document = json.loads(path.read_text())
    known = {each["name"] for each in document.get("components") or ()}
    subject = (document.get("metadata") or {}).get("component") or {}
    if (subject.get("name"), subject.get("version")) != ("kube-rescheduler", __version__):
        yield f"{path.name} is about {subject.get('name')} {subject.get('version')}"
    of_the_page = {each["name"] for each in bundled.components()}
    if missing := {"aiohttp", "kubernetes", "numpy", *of_the_page} - known:
        yield f"{path.name} does not name {', '.join(sorted(missing))}"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1])))
    sys.exit("\n".join(f"error: {each}" for each in found) or 0)
