"""Where a migration stands, in the words of its record."""

from enum import StrEnum

from rescheduler.model.podmigration.ways import Way


class Phase(StrEnum):
    PENDING = "Pending"
    IN_PROGRESS = "InProgress"
    COMPLETED = "Completed"
    FAILED = "Failed"

    @property
    def is_over(self) -> bool:
        return self in (Phase.COMPLETED, Phase.FAILED)


class Step(StrEnum):
    """The step of a migration. Each is written down before what it names is done."""

    CHECK = "Check"
    MARK = "Mark"
    CREATE = "Create"
    WAIT_READY = "WaitReady"
    WAIT_GROUP = "WaitGroup"
    LEAVE = "Leave"
    HAND_OVER = "HandOver"
    PROTECT = "Protect"
    STEER = "Steer"
    EVICT = "Evict"
    WAIT_GONE = "WaitGone"
    WAIT_REPLACEMENT = "WaitReplacement"
    CLEAN_UP = "CleanUp"
    TAKE_BACK = "TakeBack"
    DONE = "Done"

    @property
    def is_beginning(self) -> bool:
        """Nothing has happened yet that anybody could notice."""
        return self in (Step.CHECK, Step.MARK, Step.CREATE, Step.PROTECT, Step.STEER)

    @property
    def is_ready_to_go(self) -> bool:
        """The copy serves. What comes next, all of a group wait for."""
        return self in (Step.WAIT_GROUP, Step.LEAVE)

    @property
    def was_let_go(self) -> bool:
        """Its budget allowed it once; it is asked again before the end."""
        return self.is_ready_to_go or self is Step.HAND_OVER

    @property
    def ends_the_original(self) -> bool:
        """What we have begun to do may have taken effect, so the record goes on saying so."""
        return self in (Step.HAND_OVER, Step.EVICT)

    @property
    def is_before_the_end(self) -> bool:
        """The original of a copy has not been told to end."""
        return self in (
            Step.CHECK,
            Step.MARK,
            Step.CREATE,
            Step.WAIT_READY,
            Step.WAIT_GROUP,
            Step.LEAVE,
        )

    @property
    def is_after_eviction(self) -> bool:
        """The eviction may have been asked for, and the migration is not over."""
        return self in (Step.EVICT, Step.WAIT_GONE, Step.WAIT_REPLACEMENT, Step.CLEAN_UP)

    @property
    def has_evicted(self) -> bool:
        """The same, also when it is over."""
        return self.is_after_eviction or self is Step.DONE

    @property
    def has_handed_over(self) -> bool:
        """The original goes, by eviction or by the hand of its ReplicaSet, or is gone."""
        return self.has_evicted or self is Step.HAND_OVER

    @property
    def is_nearly_done(self) -> bool:
        """A few more seconds end the migration, or bring it to where it can wait."""
        return self in (
            Step.HAND_OVER,
            Step.EVICT,
            Step.WAIT_GONE,
            Step.CLEAN_UP,
            Step.TAKE_BACK,
        )

    @property
    def is_last_of_a_copy(self) -> bool:
        """The copy serves in place of the original, which finishes what it has, or ends."""
        return self in (Step.LEAVE, Step.WAIT_GONE)

    def is_starting(self, way: Way | None) -> bool:
        """The target has the start of a pod before it, or in it; else that runs, or is given up."""
        if way is not None and not way.makes_a_copy:
            return self not in (Step.CLEAN_UP, Step.TAKE_BACK)
        return not (self.is_ready_to_go or self.is_nearly_done)
