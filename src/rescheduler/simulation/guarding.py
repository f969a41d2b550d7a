"""What the embedded API server is answered about evictions, by the product itself, without HTTP."""

from typing import Final

from rescheduler.clock import Clock
from rescheduler.controller.guarding import Guarding
from rescheduler.embedded.apiserver import Webhook
from rescheduler.serve import Board
from rescheduler.serve.guard import Reviewer, formats

_NAME: Final = "guard.rescheduler.io"
"""As in the manifests."""


def own_webhook(board: Board, guarding: Guarding, clock: Clock) -> Webhook:
    """By what the running controller knows when it is asked."""
    reviewer = Reviewer(board, guarding.hears, clock)

    def ask(body: bytes) -> bytes:
        guarding.renew()
        return reviewer.answer(formats.review(body))

    return Webhook(_NAME, ask)
