"""Runs the steps of a Dockerfile as they stand, without an image engine: in a folder, by a shell.

Where an image has a root of its own, its folders are below ours: what the Dockerfile names by an
ARG is put there, and so is what it works in.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from string import Template


@dataclass(slots=True)
class Stage:
    """What one FROM ends with."""

    image: str
    variables: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)
    folder: Path = Path()
    ran: list[str] = field(default_factory=list)


class Dockerfile:
    def __init__(self, context: Path, root: Path, **arguments: str) -> None:
        self._context = context
        self._root = root
        self._arguments = arguments
        self._defaults: dict[str, str] = {}
        self.stages: list[Stage] = []
        self.libraries: dict[str, str] = {}
        """Where a copied interpreter finds its own."""

    def run(self) -> list[Stage]:
        for instruction, rest in _instructions((self._context / "Dockerfile").read_text()):
            do = getattr(self, f"_{instruction.lower()}", None)
            assert do, f"{instruction} is not known here: teach it to the test"
            do(rest)
        return self.stages

    @property
    def _stage(self) -> Stage:
        return self.stages[-1]

    def _filled(self, text: str) -> str:
        known = self._defaults | self._arguments | (self._stage.variables if self.stages else {})
        return Template(text).substitute(known)

    # ------------------------------------------------------------------ the instructions

    def _arg(self, rest: str) -> None:
        name, _, default = rest.partition("=")
        self._defaults[name] = self._arguments.get(name, default)

    def _from(self, rest: str) -> None:
        image = self._filled(rest).partition(" AS ")[0]
        self.stages.append(Stage(image, folder=self._root))

    def _env(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        self._stage.variables[name] = self._filled(value)

    def _label(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        self._stage.labels[name] = self._filled(value.strip('"'))

    def _workdir(self, rest: str) -> None:
        self._stage.folder = self._root / rest.lstrip("/")
        self._stage.folder.mkdir(parents=True)

    def _user(self, rest: str) -> None:
        self._stage.user = rest

    def _expose(self, rest: str) -> None:
        assert rest.isdigit()

    def _entrypoint(self, rest: str) -> None:
        self._stage.entrypoint = json.loads(rest)

    def _cmd(self, rest: str) -> None:
        assert json.loads(rest)

    def _copy(self, rest: str) -> None:
        *sources, into = self._filled(rest).split()
        if sources[0].startswith("--from="):
            # The same folder here, as there is one root for all stages.
            assert sources[1:] == [into]
            return
        for source in sources:
            assert not _is_ignored(self._context, source), f".dockerignore leaves out {source}"
            target = self._stage.folder / (into if len(sources) == 1 else f"{into}/{source}")
            _copy(self._context / source, target)

    def _run(self, rest: str) -> None:
        self._stage.ran.append(rest)
        done = subprocess.run(
            ["/bin/sh", "-ec", rest],
            cwd=self._stage.folder,
            env={
                "PATH": f"{self._interpreter()}:{os.environ['PATH']}",
                **self.libraries,
                "HOME": os.environ.get("HOME", ""),
                **self._defaults,
                **self._stage.variables,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"RUN {rest}\n{done.stdout}{done.stderr}"

    def _interpreter(self) -> Path:
        """Where that of the image is: the one of the tests, or a copy of it if only its owner may
        go there, for others are to run what is made.
        """
        base = Path(sys.base_prefix)
        if all(folder.stat().st_mode & 0o001 for folder in (base, *base.parents)):
            return base / "bin"
        copied = self._root / "usr/local"
        if not copied.exists():
            left_out = ("__pycache__", "site-packages", "test", "*.a")
            ignore = shutil.ignore_patterns(*left_out)
            shutil.copytree(base, copied, symlinks=True, ignore=ignore)
        self.libraries = {"LD_LIBRARY_PATH": str(copied / "lib")}
        return copied / "bin"


def _instructions(text: str) -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n", "", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines if line.strip()]


def _is_ignored(context: Path, name: str) -> bool:
    """Of a file that leaves out all but what it names."""
    lines = (context / ".dockerignore").read_text().split()
    return f"!{name}" not in lines


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        left_out = shutil.ignore_patterns("__pycache__", "node_modules", "page")
        shutil.copytree(source, target, ignore=left_out, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
