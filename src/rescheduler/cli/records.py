"""Records of migrations, as commands ask for them: what is missing is told with the way out."""

from typing import TYPE_CHECKING, Any, Final

import structlog

from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.kube import KubeApi

INSTALLING: Final = "kubectl apply -k manifests/rescheduler"


class NoRecords(ReschedulerError):
    """They cannot be read; the message says what to do about it."""


class NotInstalled(NoRecords):
    """There are none, and never were."""


async def read(kube: "KubeApi", namespace: str | None) -> list[dict[str, Any]]:
    """The oldest first; None: of every namespace. Raises NoRecords."""
    from rescheduler.kube import errors
    from rescheduler.wire import POD_MIGRATIONS

    try:
        found = await kube.list(POD_MIGRATIONS, namespace=namespace)
    except errors.NotFound as problem:
        raise NotInstalled(
            f"the cluster does not know PodMigrations ({problem}); install them: {INSTALLING}"
        ) from None
    except errors.Forbidden as problem:
        where = f"in namespace {namespace}" if namespace else "in all namespaces"
        flag = f"-n {namespace}" if namespace else "-A"
        checking = "kubectl auth can-i list podmigrations.rescheduler.io"
        raise NoRecords(
            f"no right to list podmigrations.rescheduler.io {where} ({problem}); ask whoever "
            f"administers the cluster for it, and check: {checking} {flag}"
        ) from None
    everywhere = namespace or "every one"
    structlog.get_logger().info("records read", namespace=everywhere, number=len(found))
    return sorted(found, key=_order)


def _order(record: dict[str, Any]) -> tuple[str, str, str]:
    metadata = record["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["namespace"], metadata["name"]
