"""Every address of the API: what it takes and what it answers. Pure.

From here the door knows its routes, docs/openapi.json its paths, and the page its types.
"""

from dataclasses import dataclass
from typing import Any, Final

from rescheduler.serve.dashboard.documents import (
    cluster,
    history,
    migrations,
    overview,
    plans,
    pods,
)

PREFIX: Final = "/api/v1alpha1"
EVENT_STREAM: Final = "text/event-stream"
MOST_ITEMS: Final = 1000
"""Of a page of a list, whatever `limit` says."""
FEW_ITEMS: Final = 100
"""Of a page of a list, when nobody says."""
REQUEST_HEADER: Final = "X-Rescheduler-Request"
"""Has to be 1 where something is changed: no form of another page can send it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    description: str
    type: str = "string"


_NAMESPACE: Final = Parameter("namespace", "Only of this namespace.")
_PAGE: Final = (
    Parameter(
        "limit",
        f"Most items of the answer: {FEW_ITEMS} by default, {MOST_ITEMS} at most.",
        "integer",
    ),
    Parameter("continue", "As the page before said it; it says where the next one begins."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    name: str
    path: str
    """Below the prefix; what stands in braces is taken from the address."""
    summary: str
    answer: Any
    """Its document; None: as `content`."""
    content: str = "application/json"
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """Of a POST; None: it is a GET."""

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


def _acts(name: str, summary: str) -> Endpoint:
    return Endpoint(
        name=name,
        path=f"/plans/{{name}}/{name}",
        summary=summary,
        answer=plans.Acted,
        body=plans.ActionRequest,
    )


ENDPOINTS: Final = (
    Endpoint(
        name="overview",
        path="/overview",
        summary="How the rescheduler stands, and who looks",
        answer=overview.Overview,
    ),
    Endpoint(
        name="cluster",
        path="/cluster",
        summary="All nodes and pods as columns; the stream says what changes of it",
        answer=cluster.Cluster,
    ),
    Endpoint(
        name="node",
        path="/nodes/{name}",
        summary="One node with its pods",
        answer=pods.NodeDocument,
        parameters=_PAGE,
    ),
    Endpoint(
        name="plan",
        path="/plan",
        summary="What the last pass decided",
        answer=plans.Plan,
    ),
    Endpoint(
        name="curve",
        path="/plan/curve",
        summary="What more moves would gain; worked out when it is asked for",
        answer=plans.Curve,
    ),
    Endpoint(
        name="plans",
        path="/plans",
        summary="The ReschedulePlans, the youngest first",
        answer=plans.PlanList,
        parameters=_PAGE,
    ),
    Endpoint(
        name="plan_by_name",
        path="/plans/{name}",
        summary="One ReschedulePlan with its moves and what came of them",
        answer=plans.PlanDocument,
    ),
    _acts("approve", "Say yes to a plan, with the token of whoever asks"),
    _acts("reject", "Say no to a plan, with the token of whoever asks"),
    _acts("undo", "Ask for a plan that brings its pods back, with the token of whoever asks"),
    Endpoint(
        name="migrations",
        path="/migrations",
        summary="PodMigrations, the youngest first",
        answer=migrations.MigrationList,
        parameters=(
            Parameter("phase", "Pending, InProgress, Completed or Failed; several with commas."),
            Parameter("plan", "Only those of this ReschedulePlan."),
            _NAMESPACE,
            *_PAGE,
        ),
    ),
    Endpoint(
        name="migration",
        path="/migrations/{namespace}/{name}",
        summary="One PodMigration with the timeline of its steps",
        answer=migrations.MigrationDocument,
    ),
    Endpoint(
        name="refusals",
        path="/refusals",
        summary="Why the last pass left pods where they are",
        answer=pods.Refusals,
        parameters=(
            Parameter("kind", "Only pods of this kind of reason."),
            Parameter("reason", "Only pods with exactly this reason."),
            _NAMESPACE,
            *_PAGE,
        ),
    ),
    Endpoint(
        name="pods",
        path="/pods",
        summary="Pods by name, namespace or workload",
        answer=pods.PodList,
        parameters=(
            Parameter("q", "Words that have to be in namespace/name or in kind/workload."),
            _NAMESPACE,
            *_PAGE,
        ),
    ),
    Endpoint(
        name="pod",
        path="/pods/{namespace}/{name}",
        summary="All about one pod: whether it may move, where to, and what would have to change",
        answer=pods.PodExplanation,
    ),
    Endpoint(
        name="history",
        path="/history",
        summary="Imbalance over time, and what plans promised and did",
        answer=history.History,
    ),
    Endpoint(
        name="settings",
        path="/settings",
        summary="The configuration in force, and who said each value",
        answer=history.Settings,
    ),
    Endpoint(
        name="events",
        path="/events",
        summary="Server-sent events: what changes, as `Events` names it",
        answer=None,
        content=EVENT_STREAM,
    ),
    Endpoint(
        name="openapi",
        path="/openapi.json",
        summary="This description",
        answer=dict[str, Any],
    ),
)
