"""A cluster of a test's own, for those in which it does not do its part."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.instance import OwnedInstance
from testbed.world import install_rights, make_kind_of_world
from tests.scenarios.embedded_world import EmbeddedWorld
from tests.scenarios.world import RealWorld, World


@dataclass(frozen=True, slots=True)
class OwnCluster(ABC):
    @property
    @abstractmethod
    def world(self) -> World: ...

    @abstractmethod
    async def stop_steering(self) -> None:
        """The API server does not steer any more what workloads make anew."""

    @abstractmethod
    async def stop_controllers(self) -> None:
        """Nobody counts budgets any more, or makes pods."""


@dataclass(frozen=True, slots=True)
class OwnControlPlane(OwnCluster):
    owned: OwnedInstance
    real: RealWorld

    @property
    def world(self) -> World:
        return self.real

    async def stop_steering(self) -> None:
        for kind in ("MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"):
            await self.real.api.delete(kind, None, "rescheduler-steering")

    async def stop_controllers(self) -> None:
        await asyncio.to_thread(self.owned.kill, "kube-controller-manager")


@dataclass(frozen=True, slots=True)
class OwnEmbedded(OwnCluster):
    embedded: EmbeddedWorld

    @property
    def world(self) -> World:
        return self.embedded

    async def stop_steering(self) -> None:
        self.embedded.cluster.api.steering = False

    async def stop_controllers(self) -> None:
        self.embedded.cluster.lose_controllers()


@asynccontextmanager
async def own_control_plane(folder: Path) -> AsyncIterator[OwnControlPlane]:
    with OwnedInstance() as owned:
        await install_rights(owned.instance)
        async with make_kind_of_world(RealWorld, owned.instance, folder, "own") as world:
            yield OwnControlPlane(owned, world)
