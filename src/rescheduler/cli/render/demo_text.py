"""The demo as plain lines: for files, for other programs and for terminals that can do no more."""

from typing import Final

from rescheduler.cli.output import say
from rescheduler.cli.render import move_words, node_pictures, plan_tables
from rescheduler.cli.render.layout import Page, printable
from rescheduler.model.moves import Plan
from rescheduler.simulation.scenes import Chapter, MoveLook, MoveScene, Scene

_WIDTH: Final = 100
_ALL: Final = 10**6
_GOING: Final = (MoveLook.WAITING, MoveLook.UNDER_WAY)


class Teller:
    """Chapter by chapter; each move when it has ended, with its reason."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def begins(self, chapter: Chapter) -> None:
        self._say(f"\n{chapter.number} {chapter.sentence}")

    def sees_plan(self, decided: Plan, about: str) -> None:
        self._say("")
        say(plan_tables.as_text(decided, self._page, about=about))

    def hears(self, move: MoveScene) -> None:
        if move.look not in _GOING:
            page = self._page
            self._say(
                f"{move_words.step(move)}  {printable(move.pod)}  {move_words.where(move, page)}  "
                f"{printable(move_words.why(move))}"
            )

    def sees(self, scene: Scene) -> None:
        legend, _ = node_pictures.legends(self._page)
        rows = node_pictures.drawn(scene.nodes, _WIDTH, _ALL, self._page)
        self._say("\n".join(["", legend, *(row.plain.rstrip() for row in rows), ""]))

    def _say(self, line: str) -> None:
        say(line + "\n")
