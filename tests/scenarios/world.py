"""What scenarios are set in: a scene on one of two clusters, which may also be looked at from the
inside, as the product's own code does.
"""

from abc import abstractmethod
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from rescheduler.clock import Clock, SystemClock
from rescheduler.kube import KubeApi, connect
from testbed.scenarios import Scene
from testbed.world import World as ControlPlaneWorld


@dataclass(slots=True, kw_only=True)
class World(Scene):
    @property
    @abstractmethod
    def clock(self) -> Clock: ...

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[KubeApi]:
        """As the process under test does: its rights, and the faults that were planted."""

    @abstractmethod
    def connect_as_admin(self) -> AbstractAsyncContextManager[KubeApi]:
        """As a person who may do everything."""


@dataclass(slots=True, kw_only=True)
class RealWorld(World, ControlPlaneWorld):
    """On a real control plane."""

    @property
    def clock(self) -> Clock:
        return SystemClock()

    def connect(self) -> AbstractAsyncContextManager[KubeApi]:
        return connect(str(self.kubeconfig()))

    def connect_as_admin(self) -> AbstractAsyncContextManager[KubeApi]:
        return connect(str(self.admin_kubeconfig()))
