"""A proxy in front of an API server that disturbs chosen requests, with no hook in the product.

    async with FaultProxy(url, upstream_ssl=trusts_apiserver, serving_ssl=certificate) as proxy:
        start_product(proxy.url)
        rule = proxy.on(Match(verb="create", resource="pods"), drop_reply(), times=1)
        await rule.wait_fired()

A fault-free run lists the writes (`proxy.writes`); `nth_write(k)` then meets each of them.
"""

from testbed.faultproxy.answers import (
    budget_refusal,
    conflict,
    error_frame,
    expired_event,
    expired_frame,
    fail,
    gone,
    internal_error,
    throttled,
    unavailable,
    watch_event,
)
from testbed.faultproxy.apicall import ApiCall, parse_call
from testbed.faultproxy.faults import (
    Fault,
    arrive_late,
    delay,
    drop_reply,
    drop_request,
    half_open,
    hold,
    kill,
)
from testbed.faultproxy.planting import Faults
from testbed.faultproxy.proxy import FaultProxy
from testbed.faultproxy.request import Request
from testbed.faultproxy.rule import Match, Rule, nth_write
from testbed.faultproxy.streams import (
    cut_after,
    cut_after_bytes,
    drop_events,
    hold_events,
    inject_event,
    rewrite_events,
    stall_after,
)

__all__ = [
    "ApiCall",
    "Fault",
    "FaultProxy",
    "Faults",
    "Match",
    "Request",
    "Rule",
    "arrive_late",
    "budget_refusal",
    "conflict",
    "cut_after",
    "cut_after_bytes",
    "delay",
    "drop_events",
    "drop_reply",
    "drop_request",
    "error_frame",
    "expired_event",
    "expired_frame",
    "fail",
    "gone",
    "half_open",
    "hold",
    "hold_events",
    "inject_event",
    "internal_error",
    "kill",
    "nth_write",
    "parse_call",
    "rewrite_events",
    "stall_after",
    "throttled",
    "unavailable",
    "watch_event",
]
