"""What is wrong with a kubeconfig is told with the way out."""

import json
from pathlib import Path

import pytest

from rescheduler.errors import ConnectionSettingsError
from rescheduler.kube.authentication import log_in, namespace_of

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


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "there is no kubeconfig .*; name one"), ("", "the kubeconfig .* is empty; name one")],
)
async def test_one_that_is_not_there_or_empty_is_told_once(
    tmp_path: Path, text: str | None, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """By who logs in, and not by who only wants to know the namespace before."""
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    assert namespace_of(str(path)) == "default"
    with pytest.raises(ConnectionSettingsError, match=words):
        await log_in(str(path))
    assert caplog.messages == []
