"""Evictions by others: what they are judged by is published, and moves are asked for.

On every replica alike: the record of a move is the queue, and whoever leads carries it out.
"""

from rescheduler.controller.guarding.guarding import Guarding
from rescheduler.controller.guarding.webhook_configuration import WebhookConfiguration, find_webhook

__all__ = ["Guarding", "WebhookConfiguration", "find_webhook"]
