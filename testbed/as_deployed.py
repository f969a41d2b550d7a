"""A process that is started as a Deployment starts its containers, without a container.

Its command, arguments and environment are those of the manifest; what a kubelet would mount is laid
out in a folder, and swapped there as a kubelet does it.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from testbed.api import Object
from testbed.instance import Instance
from testbed.processes import Process

# Where the client library looks is not to be configured, and /var is not ours.
_REDIRECTED = """\
from rescheduler.kube.official import load_incluster_config as load
load.__globals__["SERVICE_TOKEN_FILENAME"] = {token!r}
load.__globals__["SERVICE_CERT_FILENAME"] = {authority!r}
"""


class Mount:
    """A folder whose files are links into a version of it that is swapped as a whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._version = 0
        folder.mkdir(parents=True)

    def write(self, files: dict[str, str]) -> None:
        self._version += 1
        version = self.folder / f"..{self._version}"
        version.mkdir()
        for name, text in files.items():
            (version / name).write_text(text)
        fresh = self.folder / "..data_tmp"
        fresh.symlink_to(version.name)
        fresh.rename(self.folder / "..data")
        for name in files:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")


class AsDeployed:
    """One replica."""

    def __init__(self, instance: Instance, deployment: Object, folder: Path, name: str) -> None:
        self._instance = instance
        self._spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
        [self.container] = self._spec["containers"]
        self._folder = folder / name
        self._name = name
        self._namespace = deployment["metadata"]["namespace"]
        [mount] = self.container["volumeMounts"]
        self._mount_path = mount["mountPath"]
        self.config = Mount(self._folder / "config")
        self.account = Mount(self._folder / "serviceaccount")

    def give(self, config_map: Object, token: str) -> None:
        self.config.write(config_map["data"])
        self.give_token(token)

    def give_token(self, token: str) -> None:
        authority = (self._instance.folder / "ca.crt").read_text()
        self.account.write({"token": token, "ca.crt": authority, "namespace": self._namespace})

    async def start(self, **variables: str) -> Process:
        """`variables`: what pods have apart, and processes of one machine share, such as ports."""
        # The program of this tree, which an image would have on its PATH.
        program = Path(sys.executable).parent / self.container["command"][0]
        arguments = [
            each.replace(self._mount_path, str(self.config.folder))
            for each in self.container["args"]
        ]
        process = await asyncio.create_subprocess_exec(
            *(str(program), *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**20,
            env={**self._environment(), **variables},
        )
        return Process(process)

    def _environment(self) -> dict[str, str]:
        server = urlsplit(self._instance.url)
        redirecting = self._folder / "python"
        redirecting.mkdir(exist_ok=True)
        (redirecting / "sitecustomize.py").write_text(
            _REDIRECTED.format(
                token=str(self.account.folder / "token"),
                authority=str(self.account.folder / "ca.crt"),
            )
        )
        nowhere = str(self._folder / "read-only" / "nowhere")
        return {
            "PATH": os.environ["PATH"],
            # The root of the container can only be read: there is no home, and nowhere to write to.
            "HOME": nowhere,
            "TMPDIR": nowhere,
            "PYTHONPATH": str(redirecting),
            "KUBERNETES_SERVICE_HOST": server.hostname or "",
            "KUBERNETES_SERVICE_PORT": str(server.port),
            **{each["name"]: self._value(each) for each in self.container["env"]},
        }

    def _value(self, variable: Object) -> str:
        if "value" in variable:
            return str(variable["value"])
        told: dict[str, str] = {
            "metadata.name": self._name,
            "metadata.namespace": self._namespace,
            "metadata.uid": f"uid-of-{self._name}",
        }
        return told[variable["valueFrom"]["fieldRef"]["fieldPath"]]
