"""docs/metrics.md and the Grafana dashboard, from the catalogue of metrics."""

# ruff: noqa: E501 - lines of a page

import json
from typing import Any, Final

from rescheduler.serve.metrics.catalogue import CATALOGUE, Family

_PAGE: Final = """# Metrics

Written by `make generate` from `src/rescheduler/serve/metrics/catalogue.py`. Every replica tells all of them at `/metrics` ([operating.md](operating.md#health-and-metrics)), beside the
`process_` ones of its process: CPU, memory, open files. No label holds the name of a pod, a node or a namespace, but for accounts of those that evict (`user`), whose names may have one; counts begin at zero.

## Read at any time

| question | PromQL |
|---|---|
| success rate | `sum(rate(rescheduler_moves_total{result="completed"}[1h])) / sum(rate(rescheduler_moves_total{result=~"completed\\|failed"}[1h]))` |
| retries | `increase(rescheduler_retries_total[1d])` |
| fall-backs | `sum by (reason) (increase(rescheduler_fallbacks_total[1d]))` |
| how evenly pods are spread | `max by (resource, when) (rescheduler_cluster_imbalance_ratio)` |
| who leads | `rescheduler_leader == 1` |
| what fails, and why | `sum by (strategy, reason) (increase(rescheduler_moves_total{result="failed"}[1d]))` |

## All of them

| metric | kind | labels | |
|---|---|---|---|
"""
_NAMES: Final = """
## What stays as it is

Each of these keeps its name, its labels and its meaning; a change stands under *Changed* in the [changelog](../CHANGELOG.md), and what is renamed is told by both names for one minor version at least. Values of labels may
be added at any time (a strategy, a way, a reason, a code): let queries name those that they mean. The `process_` ones are those of prometheus_client.

## Why it is not called otherwise

Names that are common elsewhere, or were considered, and what to ask for instead:

| name | here | because |
|---|---|---|
| `cycle_duration_seconds{phase,result}` | `rescheduler_pass_duration_seconds`, `rescheduler_plan_duration_seconds{strategy}`, `rescheduler_passes_total{result}` | a pass is little else than its plan, and of that one wants to know which strategy took long |
| `snapshot_age_seconds` | `rescheduler_watch_lag_seconds{resource}` | a snapshot is made when it is asked for; what grows old is one kind of object or another |
| `plans_total{result,reason}` | `rescheduler_passes_total{result}` | a pass makes one plan, or fails |
| `plan_moves`, `plan_gain_ratio` | `rescheduler_planned_moves`, `rescheduler_cluster_imbalance_ratio{when}` | now and as planned, side by side: the gain is the difference, by resource |
| `moves_blocked_total{reason}` | `rescheduler_refused_pods{reason}` | who stays does so in every pass: a count of that grows for ever, and says nothing |
| `budget_allowed`, `budget_used` | `rescheduler_moves_allowed`, `rescheduler_moves_in_progress`, `rescheduler_moves_waiting` | there is one such budget, for all moves; budgets are PodDisruptionBudgets here |
| `mode{mode}` | `rescheduler_dry_run`, `rescheduler_paused`, `rescheduler_leader` | they do not exclude each other |
| `cluster_fragmentation_ratio{resource}` | none | no strategy goes by such a figure |
| `extender_requests_total{verb,code}` | `rescheduler_extender_requests_total{verb,result}` | nearly all are answered with 200: whether every node passed for want of knowledge, or for want of room, is what one wants to know |
"""


def page() -> str:
    return _PAGE + "".join(_row(each) for each in CATALOGUE) + _NAMES


def _row(family: Family) -> str:
    labels = ", ".join(f"`{each}`" for each in family.labels)
    return f"| `{family.name}` | {family.kind.value} | {labels} | {family.help} |\n"


# ---------------------------------------------------------------------- the dashboard

_P99: Final = "histogram_quantile(0.99, sum by (le{by}) (rate({name}_bucket[$__rate_interval])))"


def _p99(name: str, by: str = "") -> str:
    return _P99.format(name=f"rescheduler_{name}", by=f", {by}" if by else "")


_MOVED: Final = 'sum(increase(rescheduler_moves_total{result="completed"}[$__range]))'
_ENDED: Final = 'sum(increase(rescheduler_moves_total{result=~"completed|failed"}[$__range]))'
_PREDICTION_ERROR: Final = " / ".join(
    f"sum by (strategy) (increase(rescheduler_prediction_error_ratio_{each}[$__range]))"
    for each in ("sum", "count")
)
_STATS: Final = (
    ("Replicas", "count(rescheduler_build_info)", "short"),
    ("Leads", "sum(rescheduler_leader)", "short"),
    ("Ready", "sum(rescheduler_ready)", "short"),
    ("Success rate", f"{_MOVED} / {_ENDED}", "percentunit"),
    ("Retries", "sum(increase(rescheduler_retries_total[$__range]))", "short"),
    ("Fall-backs", "sum(increase(rescheduler_fallbacks_total[$__range]))", "short"),
    ("Paused", "max(rescheduler_paused)", "short"),
    ("Breaker", "max(rescheduler_circuit_breaker_open)", "short"),
)
_CHARTS: Final[tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "Imbalance, now and as planned",
        "percentunit",
        (
            (
                "max by (resource, when) (rescheduler_cluster_imbalance_ratio)",
                "{{resource}} {{when}}",
            ),
        ),
    ),
    (
        "Plans by what became of them",
        "short",
        (("sum by (event) (increase(rescheduler_plans_total[$__rate_interval]))", "{{event}}"),),
    ),
    (
        "Loads, from what was predicted, in the mean",
        "percentunit",
        (
            (
                _PREDICTION_ERROR,
                "{{strategy}}",
            ),
        ),
    ),
    ("Overloaded nodes", "short", (("max by (when) (rescheduler_overloaded_nodes)", "{{when}}"),)),
    (
        "Moves by result",
        "short",
        (("sum by (result) (increase(rescheduler_moves_total[$__rate_interval]))", "{{result}}"),),
    ),
    (
        "Why moves fail",
        "short",
        (
            (
                'sum by (reason) (increase(rescheduler_moves_total{result!="completed"}[$__rate_interval])) > 0',
                "{{reason}}",
            ),
        ),
    ),
    (
        "Moves under way",
        "short",
        (
            ("sum(rescheduler_moves_in_progress)", "in progress"),
            ("sum(rescheduler_moves_ending)", "ending"),
            ("sum(rescheduler_moves_waiting)", "waiting"),
            ("sum(rescheduler_moves_allowed)", "allowed"),
        ),
    ),
    ("Steps, 99th percentile", "s", ((_p99("step_duration_seconds", "step"), "{{step}}"),)),
    (
        "Pods that stay, by why",
        "short",
        (("max by (reason) (rescheduler_refused_pods)", "{{reason}}"),),
    ),
    (
        "Passes and plans, 99th percentile",
        "s",
        (
            (_p99("pass_duration_seconds"), "pass"),
            (_p99("plan_duration_seconds", "strategy"), "{{strategy}}"),
        ),
    ),
    (
        "Blind, and since something was heard",
        "s",
        (
            ("max by (resource) (rescheduler_watch_blind_seconds) > 0", "{{resource}} blind"),
            ("max by (resource) (rescheduler_watch_lag_seconds)", "{{resource}}"),
        ),
    ),
    (
        "Requests to the API server by code",
        "reqps",
        (("sum by (code) (rate(rescheduler_api_requests_total[$__rate_interval]))", "{{code}}"),),
    ),
    (
        "Evictions by others",
        "short",
        (
            (
                "sum by (verdict, reason) (increase(rescheduler_guard_evictions_total[$__rate_interval])) > 0",
                "{{verdict}}: {{reason}}",
            ),
            (
                'sum by (user) (increase(rescheduler_guard_evictions_by_user_total{verdict="held"}[$__rate_interval])) > 0',
                "held, by {{user}}",
            ),
        ),
    ),
    (
        "Evictions by others: held and answered, 99th percentile",
        "s",
        (
            (_p99("guard_held_seconds"), "held"),
            (_p99("guard_request_duration_seconds"), "answered"),
        ),
    ),
    (
        "In memory",
        "short",
        (
            ("max(rescheduler_pods)", "pods"),
            ("max(rescheduler_pod_classes)", "classes"),
            ("max(rescheduler_nodes)", "nodes"),
        ),
    ),
    (
        "Memory of the process",
        "bytes",
        (('process_resident_memory_bytes{job=~".*rescheduler.*"}', "{{instance}}"),),
    ),
)
_COLUMNS: Final = 24


def dashboard() -> str:
    width, height = _COLUMNS // len(_STATS), 4
    panels = [
        _panel(number, title, "stat", unit, ((expression, ""),))
        | {"gridPos": {"x": number * width, "y": 0, "w": width, "h": height}}
        for number, (title, expression, unit) in enumerate(_STATS)
    ]
    for number, (title, unit, targets) in enumerate(_CHARTS):
        place = {"x": number % 2 * 12, "y": height + number // 2 * 8, "w": 12, "h": 8}
        chart = _panel(len(_STATS) + number, title, "timeseries", unit, targets)
        panels.append(chart | {"gridPos": place})
    document = {
        "uid": "kube-rescheduler",
        "title": "kube-rescheduler",
        "tags": ["kubernetes"],
        "schemaVersion": 39,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {
            "list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]
        },
        "panels": panels,
    }
    return json.dumps(document, indent=2) + "\n"


def _panel(
    number: int, title: str, kind: str, unit: str, targets: tuple[tuple[str, str], ...]
) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": number + 1,
        "title": title,
        "type": kind,
        "datasource": source,
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [
            {
                "refId": chr(65 + place),
                "datasource": source,
                "expr": expression,
                "legendFormat": name,
            }
            for place, (expression, name) in enumerate(targets)
        ],
    }
