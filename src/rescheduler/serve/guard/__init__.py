"""Evictions by others, about which an API server asks by a validating admission webhook."""

from rescheduler.serve.guard.answering import PATH, Hears, Reviewer, endpoints

__all__ = ["PATH", "Hears", "Reviewer", "endpoints"]
