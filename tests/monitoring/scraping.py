"""A real Prometheus that scrapes replicas every second and evaluates the alerts."""

import asyncio
import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.scenarios.test_serving import free_port

ALERTS = Path(__file__).parents[2] / "manifests/monitoring/alerts.yaml"
_PATIENCE_SECONDS = 90.0


def hurried() -> dict[str, Any]:
    """The same rules, without the patience: what has to last for minutes need not here."""
    rules: dict[str, Any] = yaml.safe_load(ALERTS.read_text())
    for rule in rules["groups"][0]["rules"]:
        rule.pop("for", None)
        rule["expr"] = re.sub(r"> 120$", "> 1", rule["expr"])
    rules["groups"][0]["interval"] = "1s"
    return rules


@dataclass(frozen=True, slots=True)
class Prometheus:
    port: int

    def query(self, expression: str) -> list[dict[str, Any]]:
        found = self._ask(f"query?query={urllib.parse.quote(expression)}")
        return list(found["data"]["result"])

    def firing(self) -> set[str]:
        alerts = self._ask("alerts")["data"]["alerts"]
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}

    def _ask(self, path: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found

    async def fires(self, wanted: set[str]) -> None:
        """Each of them, at one time or another."""
        seen: set[str] = set()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while not wanted <= (seen := seen | await asyncio.to_thread(self.firing)):  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"did not fire: {sorted(wanted - seen)}") from None

    async def finds(self, expression: str) -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not await asyncio.to_thread(self.query, expression):  # noqa: ASYNC110
                await asyncio.sleep(0.2)


@asynccontextmanager
async def prometheus(folder: Path, ports: Sequence[int]) -> AsyncIterator[Prometheus]:
    rules, settings = folder / "rules.yaml", folder / "prometheus.yaml"
    rules.write_text(yaml.safe_dump(hurried()))
    targets = [{"targets": [f"127.0.0.1:{port}" for port in ports]}]
    document = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [{"job_name": "rescheduler", "static_configs": targets}],
    }
    settings.write_text(yaml.safe_dump(document))
    port = free_port()
    command = ["prometheus", f"--config.file={settings}", f"--storage.tsdb.path={folder / 'data'}"]
    process = await asyncio.create_subprocess_exec(
        *command,
        f"--web.listen-address=127.0.0.1:{port}",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield await _started(Prometheus(port))
    finally:
        process.terminate()
        await process.wait()


async def _started(made: Prometheus) -> Prometheus:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while True:
            try:
                await asyncio.to_thread(made.firing)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                return made
