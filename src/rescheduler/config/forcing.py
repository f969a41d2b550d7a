"""What `rescheduler drain` takes beyond what the configuration lets go. No file can say this."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Forced:
    """As `kubectl drain --force --delete-emptydir-data` has it: what the configuration keeps where
    it is moves, but for what is skipped. What a pod says of itself, and the scope, still count.
    """

    skip_jobs: bool = False
    skip_bare_pods: bool = False
    skip_local_storage: bool = False
    skip_system: bool = False
    """kube-system, and priorities that are critical to the system."""
    skip_namespaces: tuple[str, ...] = ()
    forgiven: frozenset[str] = frozenset()
    """UIDs of records of migrations that had ended before: whoever asks again, by command, may have
    mended what they failed of. By their names in the cluster, as clocks differ.
    """
