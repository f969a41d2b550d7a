"""A cluster and a configuration as they could be, and whether one pod may move in them."""

from functools import cached_property

from rescheduler.config import Configuration
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.desk import Desk
from rescheduler.plan.fitting import Memory
from rescheduler.plan.loads import Mask


class World:
    def __init__(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        row: int,
        *,
        asked: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.configuration = configuration
        self.row = row
        """Of the pod that it is about."""
        self.asked = asked
        """A person or a maintenance wants it away."""
        self._memory = memory or Memory()
        """Of what is the same in all of them."""

    def but(
        self, *, snapshot: Snapshot | None = None, configuration: Configuration | None = None
    ) -> "World":
        """The same with another cluster, or under another configuration."""
        return World(
            snapshot or self.snapshot,
            configuration or self.configuration,
            self.row,
            asked=self.asked,
            memory=self._memory,
        )

    @cached_property
    def desk(self) -> Desk:
        made = Desk(self.snapshot, self.configuration, memory=self._memory)
        made.is_asked = self.asked
        return made

    @cached_property
    def stays(self) -> tuple[str, ...]:
        """Every rule that holds it, whatever the target; none: it may move."""
        return self.desk.why_it_stays(self.row, asked=self.asked)

    @cached_property
    def weight(self) -> int:
        """Rules that hold it or one of its group: of each other, `stays` names the first only."""
        movable = self.desk.movable
        of_each = (movable.why_it_stays(row, asked=self.asked) for row in self.desk.unit(self.row))
        return max(sum(map(len, of_each)), len(self.stays))

    @property
    def targets(self) -> Mask:
        """Nodes that would take it."""
        found = self.desk.targets(self.row)
        return found if self.asked else found & ~self.desk.left_alone

    @cached_property
    def is_movable(self) -> bool:
        """It may move, and there is a node that takes it."""
        return not self.stays and bool(self.targets.any())

    @cached_property
    def others(self) -> tuple[int, ...]:
        """Numbers of all nodes but its own."""
        own = int(self.desk.placement.place[self.row])
        return tuple(each for each in range(len(self.desk.nodes)) if each != own)
