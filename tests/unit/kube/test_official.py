"""Of the official client only what logs in is imported."""

import subprocess
import sys

_HEAVY = ("requests", "oauthlib", "websocket", "pydantic", "urllib3")


def _ask(words: str) -> str:
    """A process of its own: here others have imported what they need."""
    done = subprocess.run(
        [sys.executable, "-c", words], check=True, capture_output=True, text=True, timeout=300
    )
    return done.stdout.strip()


def test_who_talks_to_a_cluster_does_not_pay_for_the_rest_of_the_client() -> None:
    words = (
        "import sys, rescheduler.kube\n"
        f"print([name for name in {_HEAVY} if name in sys.modules],"
        " [name for name in sys.modules if name.startswith('kubernetes')])"
    )

    assert _ask(words) == "[] []"


def test_who_asks_for_the_client_all_the_same_gets_it_whole() -> None:
    words = (
        "import rescheduler.kube, kubernetes\n"
        "from kubernetes.aio import client, config\n"
        "print(kubernetes.client.V1Pod.__name__, client.ApiClient.__name__,"
        " config.kube_config.ApiClient.__name__)"
    )

    assert _ask(words) == "V1Pod ApiClient ApiClient"


def test_who_had_imported_it_before_keeps_it() -> None:
    words = (
        "from kubernetes.aio import client\n"
        "import sys, rescheduler.kube\n"
        "print(sys.modules['kubernetes.aio.client'] is client, client.ApiClient.__name__)"
    )

    assert _ask(words) == "True ApiClient"
