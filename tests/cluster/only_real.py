"""What runs on a real control plane only, file by file, and why.

Everything else about the product's behaviour is in tests/scenarios and runs on both clusters. A
file in this folder that is not named here fails tests/unit/test_only_real.py.
"""

from collections.abc import Mapping
from typing import Final

_HTTP: Final = "HTTP: connections, formats and pages, of which the embedded cluster has none"
_PROCESS: Final = "the process and its command line: its flags, output, files and credentials"
_RIGHTS: Final = "RBAC: the embedded cluster lets everybody do everything"
_JUDGE: Final = "holds our own rules against those of Kubernetes: the embedded cluster has ours"
_TWIN: Final = "holds the embedded cluster against the real one"
_PROGRAMS: Final = "programs beside us: metrics-server, Prometheus, kubectl or descheduler"
_ADMISSION: Final = (
    "webhooks, policies and the resize of a running pod, of which the embedded cluster has none"
)
_TESTBED: Final = "the testbed itself: its control plane, its judge and its big clusters"

ONLY_REAL: Final[Mapping[str, str]] = {
    "test_auditor_watches": _TESTBED,
    "test_big_cluster": _TESTBED,
    "test_chart": _PROGRAMS,
    "test_command": _PROCESS,
    "test_commands_in_need": _RIGHTS,
    "test_compare": _PROGRAMS,
    "test_components": _PROGRAMS,
    "test_control_plane": _TESTBED,
    "test_daemons": _JUDGE,
    "test_dashboard": _RIGHTS,
    "test_deployment": _PROCESS,
    "test_documented_commands": _PROGRAMS,
    "test_embedded_answers": _TWIN,
    "test_embedded_scheduler": _TWIN,
    "test_every_field": _HTTP,
    "test_exact_requests": _JUDGE,
    "test_extender": "a stock kube-scheduler, which asks us over HTTP",
    "test_extender_tls": "a stock kube-scheduler, which trusts our CA; kubectl; rights to a Secret",
    "test_first_steps": _PROGRAMS,
    "test_fit_oracle": _JUDGE,
    "test_following_trouble": _HTTP,
    "test_following_wire": _HTTP,
    "test_guard_crashes": _ADMISSION,
    "test_guard_faults": _ADMISSION,
    "test_installing": _PROGRAMS,
    "test_guard": _ADMISSION,
    "test_guard_installed": _ADMISSION,
    "test_kube_client": _HTTP,
    "test_kubectl_drain": _PROGRAMS,
    "test_leaving_policy": _ADMISSION,
    "test_leading": "the election in threads and processes, which are stopped and killed",
    "test_leading_trouble": _HTTP,
    "test_observing": _HTTP,
    "test_observing_restarts": "an API server and a store that are killed and lose what they knew",
    "test_observing_rights": _RIGHTS,
    "test_observing_trouble": _HTTP,
    "test_older_records": "a resource definition and its stored objects, which an API server keeps",
    "test_plan_command": _PROCESS,
    "test_plugin": _PROGRAMS,
    "test_quantities": _JUDGE,
    "test_readme_figures": _PROGRAMS,
    "test_refused_copies": _ADMISSION,
    "test_resized_pods": _ADMISSION,
    "test_right_copies": _ADMISSION,
    "test_rights": _RIGHTS,
    "test_server_lacks": "servers of other versions: the embedded cluster is of one",
    "test_showpieces": _PROCESS,
    "test_snapshot_command": _PROCESS,
    "test_snapshot_secrets": _PROCESS,
    "test_steering_policy": "the admission policy: its CEL, which only an API server evaluates",
    "test_unmakeable": _ADMISSION,
    "test_usage": _PROGRAMS,
    "test_usage_sources": _PROGRAMS,
}
