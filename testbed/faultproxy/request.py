"""A request as the proxy saw it, and what became of it."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from testbed.faultproxy.apicall import ApiCall, parse_call, query_values

_WRITING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass
class Outcome:
    """Filled in while the request passes."""

    status: int | None = None  # what the client was answered
    upstream_status: int | None = None  # what the API server answered, told to the client or not
    faults: list[str] = field(default_factory=list)
    error: str | None = None  # why the exchange broke off, when no fault explains it


@dataclass(frozen=True, kw_only=True)
class Request(ApiCall):
    number: int  # from 1, over all requests
    write_number: int | None  # from 1, over the writes; None for a read or a dry run
    time: float  # seconds since the epoch, to be laid beside an audit log
    method: str
    target: str  # path and query, as sent
    dry_run: bool
    body: bytes = field(repr=False)
    outcome: Outcome = field(default_factory=Outcome, compare=False)

    @property
    def write(self) -> bool:
        return self.write_number is not None

    @property
    def status(self) -> int | None:
        return self.outcome.status

    @property
    def upstream_status(self) -> int | None:
        return self.outcome.upstream_status

    @property
    def fault(self) -> str:
        """Names of the faults that struck, joined by `+`; empty when none did."""
        return "+".join(self.outcome.faults)


NOTES = ("events", "rescheduleplans")
"""Nothing rests on those, and they come whenever there is time: they are not counted."""


class RequestCounter:
    """Turns what arrives into numbered requests."""

    def __init__(self) -> None:
        self._requests = 0
        self._writes = 0

    def record(self, method: str, target: str, body: bytes, time: float) -> Request:
        content = _json_object(body)
        call = parse_call(method, target)
        dry_run = _is_dry_run(target, content)
        write = method in _WRITING_METHODS and not dry_run and call.resource not in NOTES
        self._requests += 1
        self._writes += write
        parts = asdict(call) | {"name": call.name or _name_to_create(call, content)}
        return Request(
            **parts,
            number=self._requests,
            write_number=self._writes if write else None,
            time=time,
            method=method,
            target=target,
            dry_run=dry_run,
            body=body,
        )


def _is_dry_run(target: str, content: dict[str, Any]) -> bool:
    # A delete carries its options in the body, an eviction one level deeper.
    eviction_options = content.get("deleteOptions")
    nested = eviction_options.get("dryRun") if isinstance(eviction_options, dict) else None
    return any((*query_values(target, "dryRun"), content.get("dryRun"), nested))


def _name_to_create(call: ApiCall, content: dict[str, Any]) -> str:
    """The path of a create does not name the object, its body does (unless it asks for a name)."""
    metadata = content.get("metadata")
    if call.verb != "create" or not isinstance(metadata, dict):
        return ""
    return str(metadata.get("name") or "")


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except ValueError:  # empty, or protobuf
        return {}
    return content if isinstance(content, dict) else {}
