"""What a migration sees of its namespace: from watches while that does, live where it must."""

import asyncio
from dataclasses import replace
from typing import Final

from rescheduler.kube import is_brief
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.migrate.worker import view_building
from rescheduler.migrate.worker.context import Context
from rescheduler.migrate.worker.namespaces import Namespace
from rescheduler.migrate.worker.recording import Recorder
from rescheduler.model.objects import Object, version_of
from rescheduler.model.podmigration import Phase
from rescheduler.wire import Resource

_BELIEVED_SECONDS: Final = 10.0
"""How long what watches tell is believed in without having been read: one may be dead silently."""
# Changes come in bursts; one look for all of a burst.
_GATHER_SECONDS: Final = 0.02
_LOOK_AGAIN_SECONDS: Final = 2.0


class Views:
    def __init__(
        self, context: Context, namespace: Namespace, recorder: Recorder, intent: Intent
    ) -> None:
        self.intent = intent
        """Who controls the pod is learnt from it."""
        self._context = context
        self._namespace = namespace
        self._recorder = recorder
        self._relevance = view_building.Relevance(intent)
        self._changed = asyncio.Event()
        self._is_trusting = False
        """What watches tell: not before it was read once, and not while it may be wrong."""
        self._seen: dict[str, int] = {}
        """By UID, the version of what was read live or written: watches must not be behind it."""
        self._once: view_building.Objects = {}

    def hear(self, resource: Resource, changed: Object) -> None:
        if self._relevance.is_about(resource, changed):
            self._changed.set()

    def wake(self) -> None:
        self._changed.set()

    def forget_changes(self) -> None:
        """Before looking: what changes from now on is news."""
        self._changed.clear()

    async def wait(self, seconds: float | None = None) -> None:
        """Until something changes that matters, or for a while: a watch can be silently dead."""
        longest = _LOOK_AGAIN_SECONDS if seconds is None else min(seconds, _LOOK_AGAIN_SECONDS)
        try:
            # Not wait_for: in Python 3.11 it may swallow a cancellation.
            async with asyncio.timeout(longest):
                await self._changed.wait()
        except TimeoutError:
            return
        await self._context.clock.sleep(_GATHER_SECONDS)

    def distrust(self) -> None:
        """Something is not as the watches told: the next look is live."""
        self._is_trusting = False

    def learn(self, resource: Resource, made: Object) -> None:
        """What we made or changed ourselves."""
        self._namespace.learn(resource, dict(made))
        self._seen[made["metadata"]["uid"]] = version_of(made)

    # ------------------------------------------------------------------ looking

    async def look(self) -> View:
        age = self._context.clock.monotonic() - self._namespace.read_at
        is_believed = self._is_trusting and age <= _BELIEVED_SECONDS
        mirrored = self._namespace.mirrored() if is_believed else None
        if mirrored is not None:
            view = await self._view(mirrored, is_live=False)
            if not self._is_behind(view):
                return view
        return await self.read()

    async def read(self) -> View:
        is_beginning = self._recorder.status.step.is_beginning
        found = await self._namespace.read(all_of_it=is_beginning or not self._once)
        self._is_trusting = True
        if any(each in found for each in view_building.READ_ONCE):
            self._once = {each: tuple(found[each]) for each in view_building.READ_ONCE}
        self._learn_owner(found)
        view = await self._view(found, is_live=True)
        for pod in (view.original, view.copy):
            if pod is not None:
                self._namespace.complete(pod)
        self._seen = {each["metadata"]["uid"]: version_of(each) for each in _followed(view)}
        return view

    async def _view(self, found: view_building.Objects, *, is_live: bool) -> View:
        view = view_building.view(
            {**self._once, **found},
            self.intent,
            target=await self._context.namespaces.node(self.intent.target, live=is_live),
            source=await self._context.namespaces.node(self.intent.source, live=is_live),
            is_live=is_live,
        )
        return replace(view, records=self._records(view))

    def _is_behind(self, view: View) -> bool:
        """Whether the watches have not told yet what we know already, or the pod came before we
        asked for all of it.
        """
        if any(is_brief(each) for each in (view.original, view.copy) if each is not None):
            return True
        told = {each["metadata"]["uid"]: version_of(each) for each in _followed(view)}
        return any(told.get(uid, -1) < version for uid, version in self._seen.items())

    def _learn_owner(self, found: view_building.Objects) -> None:
        """Who controls the pod is recorded when the migration begins; until then it may change."""
        status = self._recorder.status
        original = view_building.find_original(found, self.intent)
        if original is None:
            return
        if status.owner is None and status.phase is Phase.PENDING:
            source = self.intent.source or original["spec"].get("nodeName") or ""
            owner = view_building.owner_of(original)
            self.intent = replace(self.intent, owner=owner, source=source)
        self._relevance = view_building.Relevance(self.intent, original)

    def _records(self, view: View) -> tuple[Object, ...]:
        """Ours as we wrote it, which the watch may not have told yet, and those of others that
        matter to it.
        """
        intent = self.intent
        others = self._context.records_concerning(
            intent.namespace,
            group=intent.group,
            owner=intent.owner.uid if intent.owner else "",
            pods=[each["metadata"]["uid"] for each in view.pods],
        )
        others_alone = (each for name, each in others.items() if name != intent.record)
        return (self._recorder.known, *others_alone)


def _followed(view: View) -> list[Object]:
    """What a migration changes, or follows closely."""
    named = (view.original, view.copy, view.replica_set, view.stateful_set, view.deployment)
    return [*(each for each in named if each is not None), *view.pods, *view.budgets]
