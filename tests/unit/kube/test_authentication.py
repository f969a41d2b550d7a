"""What is wrong with a kubeconfig is told with the way out."""

import json
from pathlib import Path

import pytest

from rescheduler.errors import ConnectionSettingsError
from rescheduler.kube.authentication import log_in

NAMES = ("staging", "production")


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": NAMES[0],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in NAMES],
        "clusters": [
            {"name": name, "cluster": {"server": f"https://{name}.invalid"}} for name in NAMES
        ],
        "users": [{"name": "me", "user": {"token": "t"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(document))
    return str(path)


async def test_the_context_that_is_named_counts(kubeconfig: str) -> None:
    assert (await log_in(kubeconfig)).server == "https://staging.invalid"
    assert (await log_in(kubeconfig, "production")).server == "https://production.invalid"


async def test_a_context_that_is_not_there_is_told_with_those_that_are(kubeconfig: str) -> None:
    words = "has no context producton; did you mean production\\? it has production, staging$"
    with pytest.raises(ConnectionSettingsError, match=words):
        await log_in(kubeconfig, "producton")
