"""The images of real nodes, made here: no registry is asked.

One archive, as `docker save` writes it, with busybox and an HTTP server of ours (`server/main.go`).
"""

import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from testbed import golang
from testbed.realnodes import settings
from testbed.realnodes.settings import CRASHING_IMAGE, IMAGE, NEXT_IMAGE, SANDBOX_IMAGE

BUSYBOX = Path("/bin/busybox")
_SERVER = Path(__file__).parent / "server"
_OLDEST_GO = (1, 24)
_LINKS = ("sh", "sleep", "cat", "echo", "ls", "kill", "touch", "test", "true", "false", "wget")
# Where nothing is pulled from, no image has an age.
_CREATED = "1970-01-01T00:00:00Z"


def archive() -> Path:
    """Built once for each state of the server and of busybox, in the user's cache."""
    digest = hashlib.sha256(BUSYBOX.read_bytes())
    recipe = [Path(__file__), Path(settings.__file__)]
    for path in [*recipe, *sorted(_SERVER.iterdir())]:
        digest.update(path.read_bytes())
    shelf = golang.cache_root() / "images"
    target = shelf / f"{golang.machine()}-{digest.hexdigest()[:16]}.tar"
    if not target.is_file():
        shelf.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=shelf) as staging:
            server = _build_server(Path(staging))
            made = Path(staging) / "images.tar"
            _write_archive(made, server)
            made.rename(target)
    return target


def _build_server(into: Path) -> Path:
    go = golang.find_go(_OLDEST_GO)
    built = into / "server"
    command = [str(go), "build", "-trimpath", "-ldflags=-s -w", "-o", str(built), "."]
    golang.say(f"building the HTTP server of the real nodes with {go}")
    env = golang.environment(go)
    done = subprocess.run(
        command, check=False, cwd=_SERVER, env=env, capture_output=True, text=True
    )
    if done.returncode:
        raise golang.BuildError(f"the server could not be built\n{done.stderr[-golang.TAIL :]}")
    return built


def _write_archive(path: Path, server: Path) -> None:
    layer = _layer({"bin/busybox": BUSYBOX.read_bytes(), "server": server.read_bytes()})
    digest = hashlib.sha256(layer).hexdigest()
    layers = [f"{digest}/layer.tar"]
    images = [
        ([SANDBOX_IMAGE], _configuration(digest, ["/bin/sleep", "1000000000"])),
        ([IMAGE, NEXT_IMAGE], _configuration(digest, ["/server"])),
        ([CRASHING_IMAGE], _configuration(digest, ["/bin/false"])),
    ]
    manifest = [
        {"Config": f"{_name_of(config)}.json", "RepoTags": tags, "Layers": layers}
        for tags, config in images
    ]
    with tarfile.open(path, "w") as tar:
        _add(tar, f"{digest}/layer.tar", layer)
        for _, config in images:
            _add(tar, f"{_name_of(config)}.json", config)
        _add(tar, "manifest.json", json.dumps(manifest).encode())


def _configuration(layer: str, entrypoint: list[str]) -> bytes:
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, "amd64")
    document: dict[str, Any] = {
        "created": _CREATED,
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": entrypoint, "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
        "history": [{"created": _CREATED}],
    }
    return json.dumps(document).encode()


def _name_of(config: bytes) -> str:
    return hashlib.sha256(config).hexdigest()


def _layer(programs: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder in ("bin", "etc", "tmp", "data"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for name, content in programs.items():
            _add(tar, name, content, mode=0o755)
        for name in _LINKS:
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))
