"""The rules of a Kubernetes API server: who may write what, and what becomes of it.

Synchronous, and each call is one act: nobody comes in between. Controllers call it as it is; the
product comes in through a `client`, where time passes and things go wrong.
"""

import random
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, Final, Unpack

import msgspec

from rescheduler import wire
from rescheduler.embedded.apiserver import (
    admitting,
    defaulting,
    deleting,
    evicting,
    patching,
    quotas,
    refusals,
    scaling,
    validating,
)
from rescheduler.embedded.apiserver.reviewing import Webhook
from rescheduler.embedded.kinds import BY_RESOURCE, Kind
from rescheduler.embedded.statuses import stamp
from rescheduler.embedded.store import Index, Store
from rescheduler.kube import Object, errors
from rescheduler.wire import Resource

Mutator = Callable[[Resource, Object], Object]
"""Gives the pod as it is to be; may change the one it is given."""

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX: Final = 5
_LONGEST_BASE: Final = 63 - _SUFFIX
_NAME_ATTEMPTS: Final = 8
_SERVERS_OWN: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "generateName",
    "resourceVersion",
    "name",
    "namespace",
)
_OMITTED_WHEN_EMPTY: Final = ("labels", "annotations", "finalizers", "ownerReferences")

_FINALIZE: Final = "finalize"

_encode = msgspec.json.Encoder().encode
_decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode


_BEHAVED: Final = {
    "admissionregistration.k8s.io/v1": {"mutatingadmissionpolicies"},
    "v1": {"pods/resize"},
}
"""It steers as the policies do, and pods may be resized in it."""


class ApiServer:
    def __init__(self, store: Store, now: Callable[[], datetime], chance: random.Random) -> None:
        self.store = store
        self.now = now
        self.steering = True
        """The admission policy that steers the successors of evicted pods is installed."""
        self.mutators: list[Mutator] = []
        """Called with each pod that is made, in their order, before anything else looks at it."""
        self.eviction_webhook: Webhook | None = None
        """Asked about each eviction, if there is one."""
        self.metrics: Callable[[Resource], bytes] | None = None
        """The lists of metrics.k8s.io, in JSON; None: there is no metrics server."""
        self._chance = chance
        self._by_namespace: dict[Resource, Index] = {}

    # ------------------------------------------------------------------ reading

    def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        self.kind_of(resource)
        found = self.store.find(resource, namespace, name)
        if found is None:
            raise refusals.not_found(resource, name)
        return found

    def in_namespace(self, resource: Resource, namespace: str) -> Collection[Object]:
        """All of a kind in a namespace, without looking at the others."""
        index = self._by_namespace.get(resource)
        if index is None:
            index = self.store.index(resource, lambda item: (item["metadata"].get("namespace"),))
            self._by_namespace[resource] = index
        return index.of(namespace)

    def kind_of(self, resource: Resource) -> Kind:
        kind = BY_RESOURCE.get(resource)
        if kind is None:
            raise refusals.not_served(resource)
        return kind

    def served(self, group_version: str) -> frozenset[str]:
        """With the kinds that it behaves as if somebody had installed."""
        kinds = {each.plural for each in BY_RESOURCE if each.group_version == group_version}
        return frozenset(kinds | _BEHAVED.get(group_version, set()))

    # ------------------------------------------------------------------ what a write needs

    def stamp(self) -> str:
        """The time as it stands in objects: whole seconds."""
        return stamp(self.now())

    def new_uid(self) -> str:
        bits = self._chance.getrandbits(128)
        # Version 4 of RFC 9562, as they all are.
        text = f"{bits & ~(0xF << 76) & ~(0x3 << 62) | 0x4 << 76 | 0x2 << 62:032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def name_suffix(self) -> str:
        return "".join(self._chance.choices(_ALPHABET, k=_SUFFIX))

    # ------------------------------------------------------------------ creating

    def create(
        self,
        resource: Resource,
        namespace: str | None,
        body: Mapping[str, Any],
        *,
        dry_run: bool = False,
    ) -> Object:
        kind = self.kind_of(resource)
        item = _given(body)
        validating.check_types(kind, item)
        self._name(kind, namespace, item)
        admitting.check_namespace(self.store, kind, item)
        self._begin(kind, item)
        if resource == wire.PODS:
            item = self._admitted(item)
        else:
            defaulting.complete(resource, item)
        if resource == wire.NODES:
            admitting.taint(item)
        validating.check_new(kind, item)
        charges = quotas.checked(self, resource, item)
        metadata = item["metadata"]
        if self.store.find(resource, metadata.get("namespace"), metadata["name"]) is not None:
            raise refusals.already_exists(resource, metadata["name"])
        if dry_run:
            return item
        quotas.charge(self, charges)
        return self.store.put(resource, item)

    def _name(self, kind: Kind, namespace: str | None, item: Object) -> None:
        given = item.get("metadata") or {}
        if given.get("resourceVersion"):
            words = "resourceVersion should not be set on objects to be created"
            # Nobody has told the real one that this is not its own fault.
            raise errors.Unavailable(words, status=500)
        wanted = {"apiVersion": kind.resource.group_version, "kind": kind.name}
        if any(item.get(key, value) != value for key, value in wanted.items()):
            found = f"{item.get('apiVersion')}, Kind={item.get('kind')}"
            raise refusals.bad_request(f"the object provided is {found}, which is not {wanted}")
        metadata = {
            key: value
            for key, value in given.items()
            if (key not in _SERVERS_OWN or key in ("name", "generateName")) and value
        }
        if kind.namespaced:
            place = namespace or given.get("namespace")
            if not place or given.get("namespace", place) != place:
                raise refusals.bad_request(
                    "the namespace of the provided object does not match the namespace sent on "
                    "the request"
                )
            metadata["namespace"] = place
        if not metadata.get("name") and (base := metadata.get("generateName")):
            metadata["name"] = self._generated(kind, metadata.get("namespace"), base)
        if not metadata.get("name"):
            why = refusals.required("metadata.name", "name or generateName is required")
            raise refusals.invalid(kind.resource, "", [why])
        item.update({**wanted, "metadata": metadata})

    def _generated(self, kind: Kind, namespace: str | None, base: str) -> str:
        for _ in range(_NAME_ATTEMPTS):
            name = base[:_LONGEST_BASE] + self.name_suffix()
            if self.store.find(kind.resource, namespace, name) is None:
                break
        return name

    def _begin(self, kind: Kind, item: Object) -> None:
        item["metadata"] |= {"uid": self.new_uid(), "creationTimestamp": self.stamp()}
        if kind.counts_generations:
            item["metadata"]["generation"] = 1
        if kind.has_status:
            admitting.begin_status(kind.resource, item)

    def _admitted(self, pod: Object) -> Object:
        defaulting.complete(wire.PODS, pod)
        for mutate in self.mutators:
            pod = mutate(wire.PODS, pod)
        return admitting.admitted(self, pod)

    # ------------------------------------------------------------------ changing

    def replace(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        after = _given(body)
        validating.check_types(self.kind_of(resource), after)
        metadata = after.get("metadata") or {}
        if not metadata.get("name"):
            raise refusals.bad_request("name must be provided")
        before = self.get(resource, metadata.get("namespace"), metadata["name"])
        if (uid := metadata.get("uid")) and uid != before["metadata"]["uid"]:
            raise refusals.another_uid(resource, metadata["name"], uid, before["metadata"]["uid"])
        validating.check_names_version(resource, metadata)
        _check_version(resource, before, metadata)
        return self._written(resource, before, after, subresource, dry_run=dry_run)

    def patch(  # noqa: PLR0913 - as many as a request has parts
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        change: Mapping[str, Any],
        *,
        subresource: str = "",
        strategic: bool = False,
        dry_run: bool = False,
    ) -> Object:
        before = self.get(resource, namespace, name)
        wanted = change.get("metadata")
        _check_is_meant(resource, before, wanted if isinstance(wanted, Mapping) else {})
        merge = patching.strategically_merged if strategic else patching.merged
        is_of_scale = subresource == scaling.SUBRESOURCE
        known = scaling.scale_of(resource, before) if is_of_scale else before
        after = merge(known, _copied(change))
        validating.check_types(self.kind_of(resource), after)
        return self._written(resource, before, after, subresource, dry_run=dry_run)

    def _written(
        self, resource: Resource, before: Object, after: Object, subresource: str, *, dry_run: bool
    ) -> Object:
        if subresource != scaling.SUBRESOURCE:
            return self._change(resource, before, after, subresource, dry_run=dry_run)
        rescaled = scaling.rescaled(resource, before, after)
        changed = self._change(resource, before, rescaled, "", dry_run=dry_run)
        return scaling.scale_of(resource, changed)

    def set_status(self, resource: Resource, item: Object, status: Mapping[str, Any]) -> Object:
        metadata = item["metadata"]
        before = self.get(resource, metadata.get("namespace"), metadata["name"])
        if before["metadata"]["uid"] != metadata["uid"]:
            found = before["metadata"]["uid"]
            raise refusals.another_uid(resource, metadata["name"], metadata["uid"], found)
        if before.get("status") == status:
            return before
        return self.store.put(resource, {**before, "status": _copied(status)})

    def _change(
        self, resource: Resource, before: Object, after: Object, subresource: str, *, dry_run: bool
    ) -> Object:
        kind = self.kind_of(resource)
        item = _that_takes_effect(kind, before, after, subresource)
        if item == before:
            return before
        is_of_spec = not subresource and item.get("spec") != before.get("spec")
        if is_of_spec or resource in (wire.POD_MIGRATIONS, wire.RESCHEDULE_PLANS):
            item = _copied(item)
            defaulting.complete(resource, item)
            if resource == wire.PODS:
                admitting.set_tolerations(item["spec"])
        if resource == wire.DAEMON_SETS and not subresource:
            item = defaulting.with_templates_counted(before, item)
        if item == before:
            return before
        if subresource != _FINALIZE:
            validating.check_change(kind, before, item, subresource)
        is_counted = kind.counts_generations and subresource != "status"
        if is_counted and validating.is_another_generation(kind, before, item):
            generation = before["metadata"].get("generation", 0) + 1
            item["metadata"] = {**item["metadata"], "generation": generation}
        if dry_run:
            return item
        if deleting.nothing_holds(resource, item):
            # What held it is gone with this change, which nobody sees any more.
            self.store.remove(resource, *deleting.place_of(item))
            return item
        return self.store.put(resource, item)

    # ------------------------------------------------------------------ ending

    def delete(  # noqa: PLR0913 - as many as a request has parts
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "Background",
        dry_run: bool = False,
    ) -> None:
        before = self.get(resource, namespace, name)
        found, version = before["metadata"]["uid"], before["metadata"]["resourceVersion"]
        if uid and uid != found:
            raise refusals.another_is_there(resource, name, uid, found)
        if resource_version and resource_version != version:
            raise refusals.another_version_is_there(resource, name, resource_version, version)
        deleting.delete(
            self,
            resource,
            before,
            grace_seconds=grace_seconds,
            propagation=propagation,
            dry_run=dry_run,
        )

    def evict(self, namespace: str, pod: str, **options: Unpack[evicting.Options]) -> None:
        evicting.evict(self, namespace, pod, **options)

    def bind(self, namespace: str, pod: str, node: str) -> None:
        """Where it is to run, once and for all."""
        before = self.get(wire.PODS, namespace, pod)
        bound = admitting.bound(before, node, self.store.find(wire.NODES, None, node), self.stamp())
        self.store.put(wire.PODS, bound)


def _check_is_meant(resource: Resource, item: Object, wanted: Mapping[str, Any]) -> None:
    """A patch names the object by trying to set its UID, which cannot be changed."""
    if (uid := wanted.get("uid")) and uid != item["metadata"]["uid"]:
        problem = refusals.invalid_value("metadata.uid", uid, "field is immutable")
        raise refusals.invalid(resource, item["metadata"]["name"], [problem])
    _check_version(resource, item, wanted)


def _check_version(resource: Resource, item: Object, wanted: Mapping[str, Any]) -> None:
    version = wanted.get("resourceVersion")
    if version and version != item["metadata"]["resourceVersion"]:
        raise refusals.changed_meanwhile(resource, item["metadata"]["name"])


def _that_takes_effect(kind: Kind, before: Object, after: Object, subresource: str) -> Object:
    """Of a change: the status or the rest, and never what is the server's own."""
    match subresource:
        case "status":
            item = {key: value for key, value in before.items() if key != "status"}
            if kind.resource == wire.DEPLOYMENTS and (
                told := (after.get("metadata") or {}).get("annotations")
            ):
                # Its controller writes the revision so, which is no other generation.
                item["metadata"] = {**before["metadata"], "annotations": told}
            return {**item, "status": after["status"]} if "status" in after else item
        case "finalize":
            return {**before, "spec": {**(before.get("spec") or {}), **(after.get("spec") or {})}}
        case "" | "resize" if not subresource or kind.resource == wire.PODS:
            item = {**after, "apiVersion": before["apiVersion"], "kind": before["kind"]}
            item["metadata"] = _metadata(before["metadata"], after.get("metadata") or {})
            if kind.has_status:
                item.pop("status", None)
                if "status" in before:
                    item["status"] = before["status"]
            return item
    raise refusals.not_served(kind.resource)


def _metadata(before: Object, after: Object) -> Object:
    made = {
        key: value
        for key, value in after.items()
        if key not in _SERVERS_OWN and (value or key not in _OMITTED_WHEN_EMPTY)
    }
    return made | {key: before[key] for key in _SERVERS_OWN if key in before}


def _copied(value: Mapping[str, Any]) -> Object:
    """So that it belongs to nobody else. By way of JSON: faster than anything else, and nothing
    comes in that an API server could not have sent.
    """
    return dict(_decode(_encode(value)))


def _given(body: Mapping[str, Any]) -> Object:
    """A copy of what was sent."""
    sent = _encode(body)
    read = _decode(sent)
    # Mostly there are none, and nobody has to look for them.
    return dict(_without_nulls(read) if b"null" in sent else read)


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """For the server, null is as good as nothing."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value if each is not None]
    return value
