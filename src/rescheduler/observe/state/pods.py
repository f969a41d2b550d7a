"""Pods, as columns. A row is written as a whole or not at all, and reused when its pod is gone."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from rescheduler.model import names, resources
from rescheduler.model.cluster import Owner
from rescheduler.model.columns import (
    NONE,
    Amounts,
    Flag,
    LabelSets,
    Owners,
    PodClass,
    PodColumns,
    Template,
)
from rescheduler.model.objects import Object
from rescheduler.model.resources import Resources
from rescheduler.observe.state.amounts import RequestTable, ResourceNames
from rescheduler.observe.state.interning import Interner
from rescheduler.observe.state.nodes import NodeTable
from rescheduler.observe.state.pod_columns import Arrays
from rescheduler.observe.state.pod_reading import FINISHED, OwnerKey, Pairs, PodFacts, PodReader
from rescheduler.observe.state.sharing import CopyOnWrite
from rescheduler.wire import View

T = TypeVar("T")

ClassKey = tuple[str, bytes, bytes]
"""Namespace, labels and specification."""
Original = tuple[str, str]
"""namespace/name and UID of a pod: both, for anybody may write anything into an annotation."""

_FIRST_ROWS: Final = 1024
_SPARE: Final = 8
"""One row in so many is added when there are too few: whatever is kept of them keeps these, too."""
# Plain numbers: the operators of an enumeration cost as much as writing a row.
_LEAVING: Final = int(Flag.LEAVING)
_STAYING: Final = 0xFF & ~int(Flag.LEAVING)


class PodTable:
    def __init__(self, nodes: NodeTable, resource_names: ResourceNames) -> None:
        self._nodes = nodes
        self._reader = PodReader(lambda: len(self._templates) + len(self._classes))
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._names: CopyOnWrite[list[str]] = CopyOnWrite([])
        self._uids: CopyOnWrite[list[str]] = CopyOnWrite([])
        self._columns: CopyOnWrite[Arrays] = CopyOnWrite(Arrays(_FIRST_ROWS))
        self._annotations: CopyOnWrite[dict[int, Mapping[str, str]]] = CopyOnWrite({})
        self._claims: CopyOnWrite[dict[int, tuple[str, ...]]] = CopyOnWrite({})
        self._nominated: CopyOnWrite[dict[int, str]] = CopyOnWrite({})
        self._pinned: CopyOnWrite[dict[int, str]] = CopyOnWrite({})
        self._deleting: CopyOnWrite[dict[int, int]] = CopyOnWrite({})
        self._resized: CopyOnWrite[dict[int, bytes]] = CopyOnWrite({})
        self._requests: Interner[tuple[tuple[str, int], ...], Resources] = Interner()
        self._amounts = RequestTable(resource_names)
        self._templates: Interner[bytes, Template] = Interner(self._release_template)
        self._classes: Interner[ClassKey, PodClass] = Interner(self._release_class)
        self._owners: Interner[OwnerKey, Owner] = Interner()
        self._label_sets: Interner[Pairs, Pairs] = Interner()
        self._copies: dict[Original, set[int]] = {}
        """Rows of the pods that take the place of an original, seen or assumed."""
        self._assumptions: dict[Original, str] = {}
        """Moves in flight whose copy has not been seen: their target."""
        self._unheard: set[str] | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def row_of(self, name: str) -> int | None:
        return self._rows.get(name)

    # ------------------------------------------------------------------ what the server says

    def put(self, pod: View) -> str:
        """Raises ValueError, and changes nothing, for a pod that cannot be read."""
        if pod.status.phase in FINISHED:
            # It holds nothing any more. (The server does not even send these, if asked not to.)
            self.remove(f"{pod.metadata.namespace}/{pod.metadata.name}")
        else:
            self._write(self._reader.read(pod))
        return ""

    def remove(self, name: str) -> None:
        row = self._rows.pop(name, None)
        if row is not None:
            self._clear(row)

    def begin_listing(self) -> None:
        self._unheard = {name for name, row in self._rows.items() if not self._is_assumed(row)}

    def end_listing(self) -> None:
        for name in self._unheard or ():
            self.remove(name)
        self._unheard = None

    # ------------------------------------------------------------------ what we assume

    def assume(self, name: str, uid: str, target: str) -> bool:
        """From now on a copy of the pod counts on the target, and the pod as leaving, until the
        copy is seen or the pod is gone. False when there is no such pod, or a copy is there.
        """
        row = self._rows.get(name)
        if row is None or self._uids.value[row] != uid or (name, uid) in self._copies:
            return False
        self._assumptions[name, uid] = target
        self._place_assumed(row, target)
        return True

    def forget(self, name: str, uid: str) -> None:
        """The move is not going to happen, or has been seen."""
        self._assumptions.pop((name, uid), None)
        self.remove(_assumed(name, uid))

    def _place_assumed(self, row: int, target: str) -> None:
        """A row for the copy, which has all from its original but the node."""
        name, uid = self._names.value[row], self._uids.value[row]
        copy = self._new_row(_assumed(name, uid))
        columns = self._own()
        columns.node[copy] = self._nodes.use_slot(target)
        columns.pod_class[copy] = self._classes.use_again(int(columns.pod_class[row]))
        columns.request_set[copy] = self._requests.use_again(int(columns.request_set[row]))
        owner, own_labels = int(columns.owner[row]), int(columns.own_labels[row])
        if owner != NONE:
            columns.owner[copy] = self._owners.use_again(owner)
        if own_labels != NONE:
            columns.own_labels[copy] = self._label_sets.use_again(own_labels)
        columns.flags[copy] = int(Flag.ASSUMED)
        self._names.own()[copy] = name
        original = name.split("/", 1)[1]
        annotations = {names.ORIGINAL_POD: uid, names.ORIGINAL_POD_NAME: original}
        self._annotations.own()[copy] = annotations
        self._note_copy(copy, (name, uid))

    def _is_assumed(self, row: int) -> bool:
        return bool(self._columns.value.flags[row] & int(Flag.ASSUMED))

    # ------------------------------------------------------------------ rows

    def _write(self, facts: PodFacts) -> None:
        node, pod_class, request_set, owner, own_labels = self._numbers(facts)
        row = self._rows.get(facts.name)
        is_new = row is None
        if row is None:
            row = self._new_row(facts.name)
        else:
            self._release(row)
            self._part_from_copies(row, facts.uid)
        columns = self._own()
        columns.node[row] = node
        columns.pod_class[row] = pod_class
        columns.request_set[row] = request_set
        columns.owner[row] = owner
        columns.own_labels[row] = own_labels
        columns.phase[row] = facts.phase
        is_leaving = (facts.name, facts.uid) in self._copies
        columns.flags[row] = facts.flags | (_LEAVING if is_leaving else 0)
        columns.created[row] = facts.created
        columns.started[row] = facts.started
        if self._uids.value[row] != facts.uid:
            self._uids.own()[row] = facts.uid
        if not self._names.value[row]:
            self._names.own()[row] = facts.name
        if not is_new or facts.has_more:
            _set(self._annotations, row, facts.annotations)
            _set(self._claims, row, facts.claims)
            _set(self._nominated, row, facts.nominated)
            _set(self._pinned, row, facts.pinned)
            _set(self._deleting, row, facts.deleting)
            _set(self._resized, row, facts.resized.status_json if facts.resized else None)
        if facts.annotations and names.ORIGINAL_POD in facts.annotations:
            self._see_copy(row, facts)
        if self._assumptions and not is_leaving:
            # It was lost sight of for a while, and its move is still in flight.
            target = self._assumptions.get((facts.name, facts.uid))
            if target is not None:
                self._place_assumed(row, target)
        if self._unheard is not None:
            self._unheard.discard(facts.name)

    def _numbers(self, facts: PodFacts) -> tuple[int, int, int, int, int]:
        """Of what the pod shares with others, each with one user more."""
        key = (facts.namespace, facts.labels, facts.spec_json)
        pod_class = self._classes.find(key)
        if pod_class is None:
            pod_class = self._classes.use(key, lambda: self._new_class(facts))
        else:
            self._classes.use_again(pod_class)
        if facts.resized is None:
            template = self._templates.value(self._classes.value(pod_class).template)
            request_set = self._requests.use_again(template.request_set)
        else:
            request_set = self._use_requests(facts.resized.requests)
        owner, own = facts.owner, facts.own_labels
        return (
            self._nodes.use_slot(facts.node) if facts.node else NONE,
            pod_class,
            request_set,
            self._owners.use(owner, lambda: _new_owner(*owner)) if owner else NONE,
            self._label_sets.use(own, lambda: own) if own else NONE,
        )

    def _new_row(self, name: str) -> int:
        if self._free:
            row = self._free.pop()
        else:
            row = len(self._names.value)
            self._names.own().append("")
            self._uids.own().append("")
            if row >= len(self._columns.value):
                self._columns.replace(self._columns.value.larger(row + row // _SPARE))
        self._rows[name] = row
        return row

    def _clear(self, row: int) -> None:
        self._part_from_copies(row, "")
        self._release(row)
        self._own().clear(row)
        self._names.own()[row] = ""
        self._uids.own()[row] = ""
        for sparse in self._sparse():
            _set(sparse, row, None)
        self._free.append(row)

    def _sparse(self) -> tuple[CopyOnWrite[Any], ...]:
        return (
            self._annotations,
            self._claims,
            self._nominated,
            self._pinned,
            self._deleting,
            self._resized,
        )

    def _release(self, row: int) -> None:
        columns = self._columns.value
        self._classes.release(int(columns.pod_class[row]))
        self._requests.release(int(columns.request_set[row]))
        for number, release in (
            (int(columns.node[row]), self._nodes.release_slot),
            (int(columns.owner[row]), self._owners.release),
            (int(columns.own_labels[row]), self._label_sets.release),
        ):
            if number != NONE:
                release(number)

    def _own(self) -> Arrays:
        return self._columns.own()

    # ------------------------------------------------------------------ originals and copies

    def _see_copy(self, row: int, facts: PodFacts) -> None:
        original = self._original_of(row)
        # One that terminates was taken back: the original stays, and may be on its way once more.
        if original is None or facts.flags & int(Flag.TERMINATING):
            return
        if facts.node or facts.pinned:
            self.forget(*original)
        self._note_copy(row, original)

    def _note_copy(self, row: int, original: Original) -> None:
        self._copies.setdefault(original, set()).add(row)
        self._mark(original, leaving=True)

    def _part_from_copies(self, row: int, uid_now: str) -> None:
        """The row is about to hold something else: it may have been a copy, or an original."""
        original = self._original_of(row)
        copies = self._copies.get(original) if original else None
        if original and copies and row in copies:
            copies.discard(row)
            if not copies:
                del self._copies[original]
                self._mark(original, leaving=False)
        name, before = self._names.value[row], self._uids.value[row]
        if before and before != uid_now:
            # Should it be there all the same, and only have been lost sight of, it comes back.
            self.remove(_assumed(name, before))

    def _original_of(self, row: int) -> Original | None:
        annotations = self._annotations.value.get(row)
        if annotations is None or names.ORIGINAL_POD not in annotations:
            return None
        namespace = self._names.value[row].split("/", 1)[0]
        name = f"{namespace}/{annotations.get(names.ORIGINAL_POD_NAME, '')}"
        original = (name, annotations[names.ORIGINAL_POD])
        return None if original == (self._names.value[row], self._uids.value[row]) else original

    def _mark(self, original: Original, *, leaving: bool) -> None:
        name, uid = original
        row = self._rows.get(name)
        if row is None or self._uids.value[row] != uid:
            return
        columns = self._own()
        kept = int(columns.flags[row]) & _STAYING
        columns.flags[row] = kept | _LEAVING if leaving else kept

    # ------------------------------------------------------------------ what rows have in common

    def _new_class(self, facts: PodFacts) -> PodClass:
        # The class is a user of its template, and its pods are users of the class.
        spec_json = facts.spec_json
        template = self._templates.use(spec_json, lambda: self._new_template(spec_json))
        labels: Mapping[str, str] = msgspec.json.decode(facts.labels)
        return PodClass(namespace=facts.namespace, labels=labels, template=template)

    def _new_template(self, spec_json: bytes) -> Template:
        spec: Object = msgspec.json.decode(spec_json)
        request_set = self._use_requests(resources.of_pod(spec))
        return Template(
            spec_json=spec_json, request_set=request_set, priority=spec.get("priority") or 0
        )

    def _release_template(self, template: Template) -> None:
        self._requests.release(template.request_set)

    def _release_class(self, pod_class: PodClass) -> None:
        self._templates.release(pod_class.template)

    def _use_requests(self, requests: Resources) -> int:
        number = self._requests.use(tuple(sorted(requests.items())), lambda: requests)
        self._amounts.write(number, requests)
        return number

    # ------------------------------------------------------------------ sharing

    def share(self) -> PodColumns:
        rows = len(self._names.value)
        return PodColumns(
            names=self._names.share(),
            uids=self._uids.share(),
            annotations=self._annotations.share(),
            claims=self._claims.share(),
            nominated=self._nominated.share(),
            pinned=self._pinned.share(),
            deleting=self._deleting.share(),
            resized=self._resized.share(),
            **self._columns.share().read_only(rows),
        )

    def share_requests(self) -> Amounts:
        self._amounts.keep_up(self._requests.values.value)
        return self._amounts.share(len(self._requests.values.value))

    def share_request_sets(self) -> list[Resources | None]:
        return self._requests.values.share()

    def share_common(self) -> tuple[list[PodClass | None], list[Template | None]]:
        return self._classes.values.share(), self._templates.values.share()

    def share_owners(self) -> Owners:
        return self._owners.values.share()

    def share_label_sets(self) -> LabelSets:
        return self._label_sets.values.share()


def _new_owner(kind: str, name: str, uid: str) -> Owner:
    return Owner(kind=kind, name=name, uid=uid)


def _assumed(name: str, uid: str) -> str:
    """The key of an assumed copy's row: no pod has such a name."""
    return f"assumed copy of {name} {uid}"


def _set(sparse: CopyOnWrite[dict[int, T]], row: int, value: T | None) -> None:
    """For what few rows have: nothing is kept for the others."""
    if value:
        if sparse.value.get(row) != value:
            sparse.own()[row] = value
    elif row in sparse.value:
        del sparse.own()[row]
