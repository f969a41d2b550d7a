"""What one pod at a time may have on a node: its ports, and disks that its specification names."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, Self

from rescheduler.model.objects import Object

_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - not bound to: compared with


class Exclusive(Protocol):
    """Hashable: equal ones are counted together."""

    def conflicts(self, other: "Exclusive") -> bool: ...


@dataclass(frozen=True, slots=True)
class Port:
    protocol: str
    number: int
    address: str

    def conflicts(self, other: Exclusive) -> bool:
        return (
            isinstance(other, Port)
            and (self.protocol, self.number) == (other.protocol, other.number)
            and (self.address == other.address or _ANY_ADDRESS in (self.address, other.address))
        )

    def __str__(self) -> str:
        return f"port {self.number}/{self.protocol} of the node"


@dataclass(frozen=True, slots=True)
class Disk:
    kind: str
    name: tuple[str, ...]
    monitors: frozenset[str] = frozenset()
    """Where it is found; empty: the name says it all."""
    read_only: bool = False

    def conflicts(self, other: Exclusive) -> bool:
        return (
            isinstance(other, Disk)
            and (self.kind, self.name) == (other.kind, other.name)
            and (not self.monitors or bool(self.monitors & other.monitors))
            and not (self.read_only and other.read_only)
        )

    def __str__(self) -> str:
        return f"{self.kind} {'/'.join(filter(None, self.name))}"

    @classmethod
    def of(cls, volume: Object) -> Self | None:
        if found := volume.get("gcePersistentDisk"):
            read_only = bool(found.get("readOnly"))
            return cls("gcePersistentDisk", (found.get("pdName") or "",), read_only=read_only)
        if found := volume.get("awsElasticBlockStore"):
            # Not even two that only read may share it.
            return cls("awsElasticBlockStore", (found.get("volumeID") or "",))
        if found := volume.get("iscsi"):
            read_only = bool(found.get("readOnly"))
            return cls("iscsi", (found.get("iqn") or "",), read_only=read_only)
        if found := volume.get("rbd"):
            return cls(
                "rbd",
                (found.get("pool") or "rbd", found.get("image") or ""),
                frozenset(found.get("monitors") or ()),
                read_only=bool(found.get("readOnly")),
            )
        return None


def exclusives(spec: Object) -> tuple[Port | Disk, ...]:
    return tuple(dict.fromkeys((*_ports(spec), *_disks(spec))))


def _ports(spec: Object) -> Iterable[Port]:
    """As GetHostPorts of the scheduler: of containers, and of sidecars, which run beside them."""
    sidecars = (
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    )
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                address = port.get("hostIP") or _ANY_ADDRESS
                yield Port(port.get("protocol") or "TCP", port["hostPort"], address)


def _disks(spec: Object) -> Iterable[Disk]:
    for volume in spec.get("volumes") or ():
        if disk := Disk.of(volume):
            yield disk
