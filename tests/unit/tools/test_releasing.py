"""What is wrong with a release is told before anybody publishes it."""

import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from rescheduler import __version__
from tools import releasing

METADATA = f"""Metadata-Version: 2.4
Name: kube-rescheduler
Version: {__version__}
Summary: Moves pods.
License-Expression: Apache-2.0
Requires-Python: >=3.11
Keywords: kubernetes
Description-Content-Type: text/markdown

# kube-rescheduler
"""
IN_THE_WHEEL = {
    "rescheduler/crd.yaml": "",
    "rescheduler/plan-crd.yaml": "",
    "rescheduler/config/starting.yaml": "",
    "rescheduler/manifests/config.yaml": "",
    "rescheduler/manifests/leaving-policy.yaml": "",
    "rescheduler/manifests/steering-policy.yaml": "",
    "rescheduler/py.typed": "",
    "rescheduler/config/schema.json": "",
    "rescheduler/manifests/rbac.yaml": "",
    "rescheduler/manifests/deployment.yaml": "",
    "rescheduler/serve/dashboard/page/index.html": "",
    "rescheduler/serve/dashboard/page/licenses.md": "",
    f"kube_rescheduler-{__version__}.dist-info/METADATA": METADATA,
}
IN_THE_SDIST = (
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "pyproject.toml",
    "src/rescheduler/serve/dashboard/page/index.html",
)
MATERIALS = {
    "metadata": {"component": {"name": "kube-rescheduler", "version": __version__}},
    "components": [
        {"name": name} for name in ("aiohttp", "kubernetes", "numpy", "preact", "uplot")
    ],
}


def built(
    folder: Path,
    *,
    wheel: Mapping[str, str] = IN_THE_WHEEL,
    sdist: Iterable[str] = IN_THE_SDIST,
    materials: object = MATERIALS,
    version: str = __version__,
) -> list[str]:
    """What is told of a release of these files."""
    with zipfile.ZipFile(folder / f"kube_rescheduler-{version}-py3-none-any.whl", "w") as archive:
        for name, text in wheel.items():
            archive.writestr(name, text)
    with tarfile.open(folder / f"kube_rescheduler-{version}.tar.gz", "w:gz") as source:
        for name in sdist:
            source.addfile(tarfile.TarInfo(f"kube_rescheduler-{version}/{name}"), io.BytesIO())
    (folder / releasing.MATERIALS).write_text(json.dumps(materials))
    return list(releasing.problems(folder))


def test_nothing_is_told_of_a_good_one(tmp_path: Path) -> None:
    assert built(tmp_path) == []


def test_nothing_was_built(tmp_path: Path) -> None:
    assert list(releasing.problems(tmp_path)) == [
        f"0 wheels and 0 sdists in {tmp_path}, not one of each"
    ]


@pytest.mark.parametrize("lost", sorted(set(IN_THE_WHEEL) - {next(reversed(IN_THE_WHEEL))}))
def test_a_file_that_the_wheel_lacks(tmp_path: Path, lost: str) -> None:
    [told] = built(tmp_path, wheel={k: v for k, v in IN_THE_WHEEL.items() if k != lost})
    assert told.endswith(f"lacks {lost}")


def test_a_file_that_the_sdist_lacks(tmp_path: Path) -> None:
    [told] = built(tmp_path, sdist=IN_THE_SDIST[1:])
    assert told.endswith("lacks LICENSE")


def test_what_nobody_wants_installed(tmp_path: Path) -> None:
    [told] = built(tmp_path, wheel={**IN_THE_WHEEL, "tests/conftest.py": ""})
    assert told.endswith("would install tests, too")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (METADATA.replace("Summary: Moves pods.\n", ""), "the metadata has no summary"),
        (METADATA.replace(">=3.11", "new"), "requires-python"),
        (METADATA.replace("Apache-2.0", "Beerware 7"), "license-expression"),
    ],
)
def test_metadata_that_is_wrong(tmp_path: Path, wrong: str, told: str) -> None:
    [problem] = built(tmp_path, wheel=IN_THE_WHEEL | {next(reversed(IN_THE_WHEEL)): wrong})
    assert told in problem


def test_another_version(tmp_path: Path) -> None:
    named = next(reversed(IN_THE_WHEEL))
    assert f"99.0 was built, and not {__version__}" in built(
        tmp_path, version="99.0", wheel={**IN_THE_WHEEL, named: METADATA}
    )


def test_materials_of_something_else(tmp_path: Path) -> None:
    other = {"metadata": {"component": {"name": "other", "version": "1"}}, "components": []}
    assert built(tmp_path, materials=other) == [
        "sbom.cdx.json is about other 1",
        "sbom.cdx.json does not name aiohttp, kubernetes, numpy, preact, uplot",
    ]
