"""Adds to a bill of materials what the page of the dashboard brings into the wheel, by npm's lock:
`python -m tools.bundled dist/sbom.cdx.json`. Of Python's packages cyclonedx-py knows by itself.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any, Final

LOCK: Final = Path(__file__).parent.parent / "dashboard/package-lock.json"
_ROOT: Final = "root-component"
"""As cyclonedx-py calls the package itself."""

Document = dict[str, Any]


def components() -> list[Document]:
    """What the page is made of. The tools that build it are not in it."""
    packages = json.loads(LOCK.read_text())["packages"]
    return [
        _component(path.rpartition("node_modules/")[2], package)
        for path, package in sorted(packages.items())
        if path and not package.get("dev")
    ]


def _component(name: str, package: Document) -> Document:
    version, (algorithm, _, digest) = package["version"], package["integrity"].partition("-")
    purl = f"pkg:npm/{name.replace('@', '%40')}@{version}"
    return {
        "bom-ref": purl,
        "type": "library",
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"license": {"acknowledgement": "declared", "id": package["license"]}}],
        "hashes": [
            {
                "alg": algorithm.upper().replace("SHA", "SHA-"),
                "content": base64.b64decode(digest).hex(),
            }
        ],
    }


def completed(materials: Document) -> Document:
    """With them, once, and as what the package itself depends on."""
    ours = {each["bom-ref"]: each for each in components()}
    others = [each for each in materials["components"] if each["bom-ref"] not in ours]
    dependencies = [
        {**each, "dependsOn": sorted({*each.get("dependsOn", ()), *ours})}
        if each["ref"] == _ROOT
        else each
        for each in materials["dependencies"]
        if each["ref"] not in ours
    ]
    return {
        **materials,
        "components": [*others, *ours.values()],
        "dependencies": [*dependencies, *({"ref": ref} for ref in ours)],
    }


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(json.dumps(completed(json.loads(path.read_text())), indent=2) + "\n")
