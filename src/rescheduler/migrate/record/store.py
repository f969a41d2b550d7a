"""All records of the cluster, followed by list and watch."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, ObjectNews, Pauses, Reflector, Relist, errors, follow_objects
from rescheduler.migrate.deciding import records
from rescheduler.migrate.record.indexes import Index, Key, Lines
from rescheduler.model import podmigration
from rescheduler.model.objects import Object, version_of
from rescheduler.model.podmigration import Phase
from rescheduler.wire import POD_MIGRATIONS

_UNREADABLE: Final = "Unreadable"
_PAUSES: Final = Pauses(first_seconds=1.0, longest_seconds=1.0, longest_refused_seconds=1.0)
"""People wait for what they ask for by a record, and records are few."""


class NotInstalled(ReschedulerError):
    """The cluster does not know what a PodMigration is."""


class Store(Reflector[ObjectNews]):
    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        tell: Callable[[], None],
        *,
        is_told: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`is_told`: whether the next of many that cannot be read is told by itself."""
        super().__init__(clock, POD_MIGRATIONS.plural, _PAUSES, Relist.ALWAYS)
        self._kube = kube
        self._tell = tell
        self._records: dict[Key, Object] = {}
        self._unfinished: dict[Key, Object] = {}
        self._begun: dict[Key, Object] = {}
        self._failed: dict[Key, Object] = {}
        """Of these, those that are not over, of these in turn those that have begun, and those that
        failed: they are asked for often, and mostly are few.
        """
        self._targetless: dict[Key, Object] = {}
        """Of those that are not over, those whose target nobody has chosen: they stand in no line.
        """
        self._somebody_asks = asyncio.Event()
        """For a target, who was not known before."""
        self._lines = Lines()
        self._by_pod = Index(podmigration.pod_uid)
        self._by_group = Index(podmigration.group_of)
        self._by_owner = Index(lambda each: str(podmigration.owner_of(each).get("uid") or ""))
        self._before_it: dict[Key, int] = {}
        """The versions that were known when the list was asked for."""
        self._was_listed = False
        self._is_told = is_told

    async def synced(self) -> None:
        """Until all records have been listed.

        Raises:
            NotInstalled: the custom resource is not there, or we have no right to it.
        """
        while not self.is_settled and not self._was_listed:
            self.forget_changes()
            await self.changed()
        # Later it is only told: what we carry out goes on by what we know.
        if self._was_listed:
            return
        if isinstance(self.refusal, errors.Forbidden):
            raise NotInstalled(f"may not follow PodMigrations, see rbac.yaml: {self.refusal}")
        if self.refusal is not None:
            raise NotInstalled(
                "the cluster does not know PodMigrations: install them with "
                f"`kubectl apply -k manifests/rescheduler` ({self.refusal})"
            )

    def all(self) -> Iterable[Object]:
        return self._records.values()

    def get(self, key: Key) -> Object | None:
        return self._records.get(key)

    def of_pod(self, uid: str) -> list[Object]:
        """By attempt."""
        return sorted(self._by_pod.get(uid), key=podmigration.attempt_of)

    def of_group(self, group: str) -> Iterable[Object]:
        """`group` with its namespace."""
        return tuple(self._by_group.get(group))

    def of_plan(self, plan: str, moves: Iterable[tuple[str, str, str]]) -> dict[str, Object]:
        """By the UID of the pod: of these moves, each with its namespace, the UID and the name of
        its record, as far as that is known.
        """
        found = {}
        for namespace, uid, name in moves:
            record = self.get((namespace, name)) if name else self._of_planned(plan, uid)
            if record is not None:
                found[uid] = record
        return found

    def _of_planned(self, plan: str, uid: str) -> Object | None:
        """Of a pod that was being moved already, the record of that."""
        known = self.of_pod(uid)
        own = [each for each in known if podmigration.plan_of(each) == plan]
        return next(reversed([*filter(podmigration.is_unfinished, known), *own]), None)

    def concerning(
        self, namespace: str, *, group: str, owner: str, pods: Iterable[str]
    ) -> Mapping[str, Object]:
        """What another migration may ask about, by name: those of its group, and those of the pods
        of its workload, who is `owner`. There may be thousands that are nothing to it.
        """
        found: dict[str, Object] = {}
        for each in (
            *(self._by_group.get(f"{namespace}/{group}") if group else ()),
            *(self._by_owner.get(owner) if owner else ()),
            *(record for pod in pods for record in self._by_pod.get(pod)),
        ):
            if each["metadata"]["namespace"] == namespace:
                found[each["metadata"]["name"]] = each
        return found

    def unfinished(self) -> Iterable[Object]:
        return self._unfinished.values()

    def is_unfinished(self, key: Key) -> bool:
        return key in self._unfinished

    def in_turn(self, covers: Callable[[str], bool]) -> Iterator[Object]:
        """What is unfinished in these namespaces, in the order in which it may begin."""
        return (self._unfinished[key] for key in self._lines.in_turn(covers))

    def has_its_turn(self, key: Key) -> None:
        self._lines.begun(key)

    def begun(self) -> Iterable[Object]:
        """Of what is unfinished."""
        return self._begun.values()

    def targetless(self) -> Mapping[Key, Object]:
        """Whoever plans is to choose a target for these."""
        return self._targetless

    async def somebody_asks(self) -> None:
        """For a target, since this ended the last time."""
        await self._somebody_asks.wait()
        self._somebody_asks.clear()

    def failed(self) -> Iterable[Object]:
        return self._failed.values()

    def learn(self, record: Object) -> None:
        """What we wrote ourselves, before the watch tells it."""
        if not self._is_readable(record):
            return
        known = self._records.get(key_of(record))
        is_same = known is not None and known["metadata"]["uid"] == record["metadata"]["uid"]
        if not is_same or known is None or version_of(record) >= version_of(known):
            self._keep(record)
            self._tell()

    def _keep(self, record: Object) -> None:
        key = key_of(record)
        self._records[key] = record
        for index in self._indexes:
            index.put(key, record)
        is_unfinished = podmigration.is_unfinished(record)
        is_targetless = podmigration.waits_for_target(record)
        if is_targetless and key not in self._targetless:
            self._somebody_asks.set()
        has_begun = podmigration.phase_of(record) is Phase.IN_PROGRESS
        for kept, belongs in (
            (self._unfinished, is_unfinished),
            (self._begun, is_unfinished and has_begun),
            (self._failed, podmigration.has_failed(record)),
            (self._targetless, is_targetless),
        ):
            if belongs:
                kept[key] = record
            else:
                kept.pop(key, None)
        if is_unfinished and not is_targetless:
            self._lines.put(key, record)
        else:
            self._lines.remove(key)

    def _drop(self, key: Key) -> None:
        for kept in (
            self._records,
            self._unfinished,
            self._begun,
            self._failed,
            self._targetless,
        ):
            kept.pop(key, None)
        for index in self._indexes:
            index.remove(key)
        self._lines.remove(key)

    @property
    def _indexes(self) -> tuple[Index, ...]:
        return self._by_pod, self._by_group, self._by_owner

    def _is_readable(self, record: Object) -> bool:
        """Of another version, or written by hand: not to be carried out, nor stumbled over."""
        try:
            records.read_status(record)
            podmigration.insist_on_request(record)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            # Those that are still there are met again with each list.
            if self._is_told(_UNREADABLE):
                name = "/".join(key_of(record))
                structlog.get_logger().warning(f"PodMigration {name} ignored: {problem!r}")
            return False
        return True

    def forget(self, record: Object) -> None:
        """It was deleted, before the watch tells it."""
        known = self._records.get(key_of(record))
        if known is not None and known["metadata"]["uid"] == record["metadata"]["uid"]:
            self._drop(key_of(record))
            self._tell()

    def has(self, record: Object) -> bool:
        known = self._records.get(key_of(record))
        return known is not None and known["metadata"]["uid"] == record["metadata"]["uid"]

    # ------------------------------------------------------------------ list and watch

    def _open(self, since: str) -> AsyncGenerator[ObjectNews, None]:
        return follow_objects(self._kube, POD_MIGRATIONS, since=since)

    def _begin_listing(self) -> None:
        self._before_it = {key: version_of(each) for key, each in self._records.items()}

    def _take(self, news: ObjectNews) -> None:
        if news.complete:
            self._replace(news.present)
            return
        for record in news.gone:
            self.forget(record)
        for record in news.present:
            self.learn(record)

    def _replace(self, found: Iterable[Object]) -> None:
        listed = {key_of(each): each for each in found if self._is_readable(each)}
        for key, known in self._records.items():
            # Written while the list was on its way, which may show less.
            is_news = self._before_it.get(key) != version_of(known)
            if is_news and (key not in listed or version_of(known) > version_of(listed[key])):
                listed[key] = known
        for key in self._records.keys() - listed.keys():
            self._drop(key)
        for record in listed.values():
            self._keep(record)
        self._was_listed = True
        self._tell()


def key_of(record: Object) -> Key:
    return record["metadata"]["namespace"], record["metadata"]["name"]
