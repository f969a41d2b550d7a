"""What came of asking: who was wrong, how often every rule was seen at work, and a reproduction."""

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from rescheduler.model.columns import NONE
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting import Placement
from tests.cluster.fit_oracle.asking import Case
from tests.unit.plan.support import scheduler_rules, scheduler_volumes
from tests.unit.plan.support.cluster_objects import Cluster, Object, asked_by, key_of, labels_of
from tests.unit.plan.support.object_snapshots import snapshot_of

REASONS: Mapping[str, str] = {
    "didn't match Pod's node affinity/selector": "node affinity",
    "pod affinity terms conflict": "node affinity",
    "didn't have free ports": "ports",
    "Insufficient ": "resources",
    "Too many pods": "resources",
    'persistentvolumeclaim "': "claims",
    'persistentvolume "': "claims",
    "unbound immediate PersistentVolumeClaims": "claims",
    "bound to non-existent pv(s)": "claims",
    "no available disk": "disks",
    "ReadWriteOncePod access mode": "exclusive claims",
    "exceed max volume count": "attach limits",
    "didn't match PersistentVolume's node affinity": "volume affinity",
    "no available volume zone": "volume zones",
    "topology spread constraints": "spread",
    "didn't match pod affinity rules": "affinity",
    "didn't match pod anti-affinity rules": "anti-affinity",
    "existing pods anti-affinity rules": "others' anti-affinity",
}
"""What the scheduler says of a node that is not cordoned and tolerated -> the rule."""


def our_reasons(
    snapshot: Snapshot, asked: Sequence[tuple[int, int]]
) -> Sequence[Sequence[str] | None]:
    """The product's own answers; all its ways of asking must agree."""
    placement = Placement(snapshot)
    found: list[Sequence[str] | None] = []
    for row, node in asked:
        if row == NONE:
            found.append(None)
            continue
        reasons = placement.why_not(row, node)
        fits = placement.fits(row, node)
        what = f"{snapshot.pods.names[row]} to {snapshot.nodes[node].name}"
        assert fits == (not reasons), f"{what}: fits is {fits}, and why_not says {reasons}"
        assert fits == bool(placement.targets(row)[node]), f"{what}: targets says otherwise"
        found.append(reasons)
    return found


# ---------------------------------------------------------------------- the scheduler's words


def rule_told(case: Case) -> str:
    """By which the scheduler refused the target. It stops at the first; nodes of other worlds are
    refused for their taint, so that a taint of the target shows in nothing else.
    """
    if case.fits:
        return ""
    # What follows is why pushing out others would not help either.
    told, _, _ = case.words.partition(" preemption: ")
    for words, rule in REASONS.items():
        if words in told:
            return rule
    # Who asks for a node by its name is told so of all others, and nothing else.
    tainted = "untolerated taint" in told
    return "node affinity" if _BY_NAME in told and not tainted else "taints"


_BY_NAME = "didn't satisfy plugin(s) [NodeAffinity]"


USES: Mapping[str, Callable[[Case], object]] = {
    "taints": lambda case: len(_target(case)["spec"]["taints"]) > 1,
    "node affinity": lambda case: (
        case.pod["spec"].get("nodeSelector")
        or scheduler_rules.affinity_of(case.pod, "nodeAffinity")
    ),
    "ports": lambda case: scheduler_rules.ports_of(case.pod),
    "resources": lambda case: len(asked_by(case.pod)) > 1,
    "claims": lambda case: scheduler_volumes.claim_names(case.pod),
    "disks": lambda case: any(
        each.keys() & set(scheduler_volumes.DISKS) for each in case.pod["spec"].get("volumes") or ()
    ),
    "exclusive claims": lambda case: any(
        "ReadWriteOncePod" in each["spec"]["accessModes"]
        for each in scheduler_volumes.claims_of(_cluster(case), case.pod)
    ),
    "attach limits": lambda case: any(
        "csi" in each["spec"] for each in scheduler_volumes.volumes_of(_cluster(case), case.pod)
    ),
    "volume affinity": lambda case: any(
        "nodeAffinity" in each["spec"]
        for each in scheduler_volumes.volumes_of(_cluster(case), case.pod)
    ),
    "volume zones": lambda case: any(
        labels_of(each) for each in scheduler_volumes.volumes_of(_cluster(case), case.pod)
    ),
    "spread": lambda case: scheduler_rules.hard_constraints(case.pod),
    "affinity": lambda case: scheduler_rules.required_terms(case.pod, "podAffinity"),
    "anti-affinity": lambda case: scheduler_rules.required_terms(case.pod, "podAntiAffinity"),
    "others' anti-affinity": lambda case: any(
        scheduler_rules.required_terms(other, "podAntiAffinity")
        for other in _cluster(case).pods_on(case.target)
    ),
}
"""Whether a rule has anything to say of a case."""


def _target(case: Case) -> Object:
    return _cluster(case).nodes[case.target]


def _cluster(case: Case) -> Cluster:
    return Cluster.of(case.objects)


# ---------------------------------------------------------------------- counting


class Score:
    def __init__(self) -> None:
        self.verdicts = 0
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.refused_alone: Counter[str] = Counter()
        self.copies = 0
        self.too_strict: Counter[str] = Counter()
        """Class of reason -> how often the scheduler did not mind."""
        self.too_strict_on_moves: Counter[str] = Counter()
        self.wrong: list[tuple[str, Case]] = []
        """What must not be."""

    def add(self, cases: Iterable[Case]) -> None:
        for case in cases:
            self.verdicts += 1
            self._note_coverage(case)
            self._compare(case)

    def _note_coverage(self, case: Case) -> None:
        told = rule_told(case)
        if told:
            self.refused[told] += 1
            if list(case.rules) == [told]:
                self.refused_alone[told] += 1
        else:
            self.accepted.update(name for name, uses in USES.items() if uses(case))

    def _compare(self, case: Case) -> None:
        told = rule_told(case)
        if case.bound and not case.fits:
            self.wrong.append((f"the scheduler bound it to {case.bound}, which is cordoned", case))
        elif case.fits != (not case.rules) or (told and told not in case.rules):
            self.wrong.append((f"the judge is wrong: {list(case.rules)}", case))
        if not case.fits and not case.ours:
            self.wrong.append(("a false fit", case))
        elif case.fits:
            self.too_strict.update(set(map(_kind, case.ours)))
        if case.of_the_move is None:
            return
        self.copies += 1
        if not case.fits and not case.of_the_move:
            self.wrong.append(("a false fit of a move", case))
        elif case.fits:
            self.too_strict_on_moves.update(set(map(_kind, case.of_the_move)))

    def table(self) -> str:
        lines = [f"{self.verdicts} verdicts of kube-scheduler, {self.copies} of them on copies"]
        lines.append(f"{'rule':24}{'accepted':>10}{'refused':>10}{'by it alone':>13}")
        for name in USES:
            counts = (self.accepted[name], self.refused[name])
            line = "".join(f"{count:10}" for count in counts)
            lines.append(f"{name:24}{line}{self.refused_alone[name]:13}")
        for what, classes in (
            ("pods that wait", self.too_strict),
            ("moves", self.too_strict_on_moves),
        ):
            lines.append(f"refused by us alone, {what}: {classes.total()} reasons")
            lines += [f"{count:8}  {kind}" for kind, count in classes.most_common()]
        return "\n".join(lines)


def _kind(reason: str) -> str:
    """The reason without what is of this case alone."""
    reason = re.sub(r"asks for .*|\(.*?\)|: .*", "", reason)
    return " ".join("..." if re.search(r"[0-9/]", word) else word for word in reason.split())


# ---------------------------------------------------------------------- reproducing


def reproduction(what: str, case: Case, folder: Path) -> Path:
    """The case as YAML, made as small as it can be while we are still wrong by our own judge."""
    objects, pod = list(case.objects), case.pod
    if what == "a false fit" and _is_false_fit(objects, pod, case.target):
        objects, pod = smallest(
            objects, pod, lambda others, one: _is_false_fit(others, one, case.target)
        )
    said = {
        "what": what,
        "target": case.target,
        "scheduler": case.words or f"bound to {case.bound}",
        "judge": list(case.rules),
        "ours": list(case.ours),
        "move": None if case.of_the_move is None else list(case.of_the_move),
    }
    path = folder / f"{pod['metadata']['name']}.yaml"
    path.write_text(yaml.safe_dump_all([said, _without_noise(pod), *map(_without_noise, objects)]))
    return path


def smallest(
    objects: Sequence[Object], pod: Object, is_wrong: Callable[[Sequence[Object], Object], bool]
) -> tuple[list[Object], Object]:
    """Leaves out one thing after the other, as long as it stays wrong."""
    kept = list(objects)
    for each in objects:
        fewer = [other for other in kept if other is not each]
        if is_wrong(fewer, pod):
            kept = fewer
    for key in ("affinity", "topologySpreadConstraints", "volumes", "nodeSelector", "tolerations"):
        less = copy.deepcopy(pod)
        less["spec"].pop(key, None)
        if is_wrong(kept, less):
            pod = less
    return kept, pod


def _is_false_fit(objects: Sequence[Object], pod: Object, target: str) -> bool:
    cluster = Cluster.of(objects)
    if target not in cluster.nodes or not scheduler_rules.why_not(cluster, pod, target):
        return False
    snapshot = snapshot_of([*objects, pod])
    row = snapshot.pods.names.index("/".join(key_of(pod)))
    return Placement(snapshot).fits(row, snapshot.node_numbers[target])


def _without_noise(each: Object) -> Object:
    made = copy.deepcopy(each)
    made["metadata"].pop("managedFields", None)
    return made
