"""What a pod may say of where it wants to be (pkg/apis/core/validation).

The scheduler reads these without asking whether they are there.
"""

from collections.abc import Iterator
from typing import Final

from rescheduler.embedded.apiserver import refusals
from rescheduler.embedded.apiserver.refusals import FieldProblem
from rescheduler.kube import Object

_NEIGHBOURS: Final = ("podAffinity", "podAntiAffinity")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHTS: Final = range(1, 101)
_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def problems_of(spec: Object, path: str) -> Iterator[FieldProblem]:
    """`path`: of the specification of a pod."""
    affinity = spec.get("affinity") or {}
    yield from _of_node_affinity(affinity, f"{path}.affinity")
    for kind in _NEIGHBOURS:
        yield from _of_neighbours(affinity.get(kind) or {}, f"{path}.affinity.{kind}")
    constraints = spec.get("topologySpreadConstraints") or []
    for place, constraint in enumerate(constraints):
        where = f"{path}.topologySpreadConstraints[{place}]"
        yield from _of_spread(constraint, where)
        if _domain(constraint) in map(_domain, constraints[:place]):
            key, otherwise = _domain(constraint)
            both = f"{where}.{{topologyKey, whenUnsatisfiable}}"
            yield FieldProblem(both, f'Duplicate value: "{{{key}, {otherwise}}}"')
    for place, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _of_toleration(toleration, f"{path}.tolerations[{place}]")
    yield from _of_label_keys(spec, path)


def _of_neighbours(given: Object, path: str) -> Iterator[FieldProblem]:
    for place, term in enumerate(given.get(_REQUIRED) or ()):
        yield from _of_topology_key(term, f"{path}.{_REQUIRED}[{place}]")
    for place, wish in enumerate(given.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{place}]"
        yield from _of_weight(wish, where)
        yield from _of_topology_key(wish.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")


def _of_weight(wish: Object, path: str) -> Iterator[FieldProblem]:
    if wish.get("weight") not in _WEIGHTS:
        why = "must be in the range 1-100"
        yield refusals.invalid_value(f"{path}.weight", wish.get("weight"), why)


def _of_topology_key(holder: Object, path: str) -> Iterator[FieldProblem]:
    if not holder.get("topologyKey"):
        yield refusals.required(f"{path}.topologyKey", "can not be empty")


def _of_spread(constraint: Object, path: str) -> Iterator[FieldProblem]:
    skew = constraint.get("maxSkew", 0)
    if skew <= 0:
        yield refusals.invalid_value(f"{path}.maxSkew", skew, "must be greater than zero")
    yield from _of_topology_key(constraint, path)
    otherwise = constraint.get("whenUnsatisfiable", "")
    if otherwise not in _UNSATISFIABLE:
        yield refusals.unsupported(f"{path}.whenUnsatisfiable", otherwise, _UNSATISFIABLE)
    least = constraint.get("minDomains")
    if least is not None and least <= 0:
        yield refusals.invalid_value(f"{path}.minDomains", least, "must be greater than zero")
    if least is not None and otherwise != "DoNotSchedule":
        why = "can only use minDomains if whenUnsatisfiable=DoNotSchedule"
        yield refusals.invalid_value(f"{path}.minDomains", least, why)


def _domain(constraint: Object) -> tuple[object, object]:
    return constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")


def _of_toleration(toleration: Object, path: str) -> Iterator[FieldProblem]:
    operator, effect = toleration.get("operator") or "Equal", toleration.get("effect") or ""
    if not toleration.get("key") and operator != "Exists":
        why = "operator must be Exists when `key` is empty"
        yield refusals.invalid_value(f"{path}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield refusals.invalid_value(f"{path}.effect", effect, why)
    if operator == "Exists" and toleration.get("value"):
        why = "value must be empty when `operator` is 'Exists'"
        yield refusals.invalid_value(f"{path}.operator", toleration, why)
    if operator not in ("Equal", "Exists"):
        yield refusals.unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield refusals.unsupported(f"{path}.effect", effect, _EFFECTS)


def _of_node_affinity(affinity: Object, path: str) -> Iterator[FieldProblem]:
    of_nodes = affinity.get("nodeAffinity") or {}
    preferred = of_nodes.get(_PREFERRED) or ()
    terms: list[tuple[str, Object]] = []
    for place, wish in enumerate(preferred):
        where = f"{path}.nodeAffinity.{_PREFERRED}[{place}]"
        yield from _of_weight(wish, where)
        terms.append((f"{where}.preference", wish.get("preference") or {}))
    required = of_nodes.get(_REQUIRED)
    if required is not None:
        where = f"{path}.nodeAffinity.{_REQUIRED}"
        given = required.get("nodeSelectorTerms") or ()
        if not given:
            why = "must have at least one node selector term"
            yield refusals.required(f"{where}.nodeSelectorTerms", why)
        terms += [(f"{where}.nodeSelectorTerms[{i}]", each) for i, each in enumerate(given)]
    for where, term in terms:
        for place, field in enumerate(term.get("matchFields") or ()):
            yield from _of_match_field(field, f"{where}.matchFields[{place}]")


def _of_match_field(field: Object, path: str) -> Iterator[FieldProblem]:
    if field.get("key") != "metadata.name":
        yield refusals.invalid_value(f"{path}.key", field.get("key"), "not a valid field selector")
    if field.get("operator") not in ("In", "NotIn"):
        yield refusals.invalid_value(
            f"{path}.operator", field.get("operator"), "not a valid selector operator"
        )
    elif len(field.get("values") or ()) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield refusals.required(f"{path}.values", why)


def _of_label_keys(spec: Object, path: str) -> Iterator[FieldProblem]:
    """By now what they stand for is in the selector: no key may be there twice."""
    terms = [
        (f"{path}.topologySpreadConstraints[{place}].matchLabelKeys", each)
        for place, each in enumerate(spec.get("topologySpreadConstraints") or ())
    ]
    for kind in _NEIGHBOURS:
        given = (spec.get("affinity") or {}).get(kind) or {}
        for name in (_REQUIRED, _PREFERRED):
            # Here the real one forgets to say in which field it is.
            terms += [
                (f"{path}.affinity.{kind}.{name}[{place}]", each.get("podAffinityTerm") or each)
                for place, each in enumerate(given.get(name) or ())
            ]
    for where, term in terms:
        selector = term.get("labelSelector") or {}
        seen = set(selector.get("matchLabels") or {})
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key")
            for keys in ("matchLabelKeys", "mismatchLabelKeys"):
                if key in seen and key in (term.get(keys) or ()):
                    place = term[keys].index(key)
                    why = "exists in both matchLabelKeys and labelSelector"
                    yield refusals.invalid_value(f"{where}[{place}]", key, why)
            seen.add(key)
