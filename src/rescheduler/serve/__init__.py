"""The one package that listens: health, metrics, the questions of a scheduler and of an API server,
the dashboard.

A stage beside observe, plan and migrate, which it does not know, nor they it. In: what the
controller publishes (`Board`), as values of `model`, and requests from outside. Out: what they are
answered; a scheduler by the functions of `schedule`, an API server by those of `guard`. Whoever
wants something moved by way of it gets a PodMigration created, like anybody else who asks; so what
is asked for here is recorded, admitted and fenced as all else is.

What does not belong here: decisions about pods, writes other than such records and what people
write by their own tokens, state of its own that is lost with the process, and talking to servers:
that is `kube`, behind `KubeApi`.

It answers in a thread of its own (`listening`), from what was published last, and never asks the
main thread for anything. A subject each has a file or a folder of its own here. `pyproject.toml`
says who may import `aiohttp`; that nobody else listens is held by tests/unit/test_layers.py.
"""

from rescheduler.serve.board import Board
from rescheduler.serve.dashboard.door import DashboardDoor
from rescheduler.serve.extender.formats import Binding
from rescheduler.serve.listening import CannotListen
from rescheduler.serve.metrics import CATALOGUE, Recorder
from rescheduler.serve.serving import GuardDoor, SchedulerDoor, serving
from rescheduler.serve.tls import Shown

__all__ = [
    "CATALOGUE",
    "Binding",
    "Board",
    "CannotListen",
    "DashboardDoor",
    "GuardDoor",
    "Recorder",
    "SchedulerDoor",
    "Shown",
    "serving",
]
