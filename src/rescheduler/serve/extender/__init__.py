"""Filter, Prioritize and Bind, as a kube-scheduler asks an extender for them over HTTP."""

from rescheduler.serve.extender.answering import Bind, endpoints

__all__ = ["Bind", "endpoints"]
