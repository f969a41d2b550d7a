"""The flags of `rescheduler demo`."""

from dataclasses import dataclass
from typing import Final

from rescheduler.cli.web_flags import check_web
from rescheduler.cli.wrong_flags import Problems

NODES: Final = 30
_MOST_NODES: Final = 200
_MOST_SPEED: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFlags:
    nodes: int
    seed: int
    speed: float | None
    """None: for people on a terminal, and else as fast as possible."""
    keep: bool
    web: bool = False
    port: int | None = None

    @property
    def again(self) -> str:
        """The command that shows the same cluster once more."""
        nodes = f" --nodes {self.nodes}" if self.nodes != NODES else ""
        return f"rescheduler demo{nodes} --seed {self.seed}"

    def check(self) -> None:
        """Raises WrongFlags."""
        # Not before somebody wants it: it takes a while to load.
        from rescheduler.simulation.demo_cluster import FEWEST_NODES

        problems = Problems()
        if not FEWEST_NODES <= self.nodes <= _MOST_NODES:
            problems.refuse("--nodes", f"{self.nodes} is not from {FEWEST_NODES} to {_MOST_NODES}")
        problems.refuse_below_zero("--seed", self.seed, "; any other number is another cluster")
        if self.speed is not None and not 0 <= self.speed <= _MOST_SPEED:
            problems.refuse(
                "--speed",
                f"{self.speed:g} is not from 0 to {_MOST_SPEED:g}; 2 is twice as fast, and 0 waits "
                "for nobody",
            )
        check_web(problems, web=self.web, port=self.port)
        problems.raise_if_any()
