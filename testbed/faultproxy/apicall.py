"""What a request asks of the API server, read from method and path as the server reads them."""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True, kw_only=True)
class ApiCall:
    """The words of RBAC and of the audit log; a part that does not apply is empty."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


def parse_call(method: str, target: str) -> ApiCall:
    """Read a request target such as `/api/v1/namespaces/a/pods/b/eviction?dryRun=All`."""
    path = urlsplit(target).path
    match [unquote(segment) for segment in path.split("/") if segment]:
        case ["api", version, first, *rest]:
            group = ""
        case ["apis", group, version, first, *rest]:
            pass
        case _:
            return ApiCall(verb=method.lower())
    namespace, (resource, name, subresource) = _place([first, *rest])
    return ApiCall(
        verb=_verb(method, named=bool(name), watch=_asks_to_watch(target)),
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def query_values(target: str, key: str) -> list[str]:
    return parse_qs(urlsplit(target).query, keep_blank_values=True).get(key, [])


def _place(segments: list[str]) -> tuple[str, tuple[str, str, str]]:
    """Namespace, then resource, name and subresource, of the path behind group and version."""
    match segments:
        # As in the API server, a namespace counts as an object inside itself.
        case ["namespaces", namespace]:
            return namespace, ("namespaces", namespace, "")
        case ["namespaces", namespace, ("status" | "finalize") as subresource]:
            return namespace, ("namespaces", namespace, subresource)
        case ["namespaces", namespace, *rest]:
            return namespace, _resource(rest)
        case _:
            return "", _resource(segments)


def _resource(segments: list[str]) -> tuple[str, str, str]:
    # What follows the subresource belongs to it (nodes/n/proxy/metrics).
    resource, name, subresource, *_ = [*segments, "", "", ""]
    return resource, name, subresource


def _verb(method: str, *, named: bool, watch: bool) -> str:
    if method in ("GET", "HEAD"):
        if named:
            return "get"
        return "watch" if watch else "list"
    if method == "DELETE":
        return "delete" if named else "deletecollection"
    return _VERBS.get(method, method.lower())


def _asks_to_watch(target: str) -> bool:
    # The API server's rule: only absence, "false" and "0" mean no; even an empty value means yes.
    values = query_values(target, "watch")
    return bool(values) and values[0].lower() not in ("false", "0")
