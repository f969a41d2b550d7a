"""What an API server says when it refuses: the errors of `kube`, in the words of the real one.

Whoever reads a message here shall find the same one in the documentation and on a real cluster.
"""

from collections.abc import Iterable
from typing import NamedTuple

from rescheduler.embedded.kinds import BY_RESOURCE
from rescheduler.kube import errors
from rescheduler.wire import Resource


class FieldProblem(NamedTuple):
    """One field that cannot be as it is."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def invalid_value(path: str, value: object, why: str) -> FieldProblem:
    return FieldProblem(path, f"Invalid value: {_shown(value)}: {why}")


def required(path: str, why: str = "") -> FieldProblem:
    return FieldProblem(path, "Required value" + (f": {why}" if why else ""))


def forbidden_field(path: str, why: str) -> FieldProblem:
    return FieldProblem(path, f"Forbidden: {why}")


def unsupported(path: str, value: object, supported: Iterable[str]) -> FieldProblem:
    known = ", ".join(f'"{each}"' for each in supported)
    return FieldProblem(path, f"Unsupported value: {_shown(value)}: supported values: {known}")


def not_served(resource: Resource) -> errors.NotFound:
    return errors.NotFound(
        f"the server could not find the requested resource ({resource.plural})", status=404
    )


def not_found(resource: Resource, name: str) -> errors.NotFound:
    return errors.NotFound(f'{qualified(resource)} "{name}" not found', status=404)


def already_exists(resource: Resource, name: str) -> errors.AlreadyExists:
    return errors.AlreadyExists(f'{qualified(resource)} "{name}" already exists', status=409)


def forbidden(resource: Resource, name: str, why: str) -> errors.Forbidden:
    return errors.Forbidden(f'{qualified(resource)} "{name}" is forbidden: {why}', status=403)


def conflict(resource: Resource, name: str, why: str) -> errors.Conflict:
    words = f'Operation cannot be fulfilled on {qualified(resource)} "{name}": {why}'
    return errors.Conflict(words, status=409)


def changed_meanwhile(resource: Resource, name: str) -> errors.Conflict:
    why = "the object has been modified; please apply your changes to the latest version and "
    return conflict(resource, name, why + "try again")


def another_uid(resource: Resource, name: str, wanted: str, found: str) -> errors.Conflict:
    why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    return conflict(resource, name, why)


def another_is_there(resource: Resource, name: str, wanted: str, found: str) -> errors.Conflict:
    """Of who wants to delete it."""
    return errors.Conflict(
        f'Operation cannot be fulfilled on {_kind(resource)} "{name}": the UID in the precondition '
        f"({wanted}) does not match the UID in record ({found}). The object might have been "
        "deleted and then recreated",
        status=409,
    )


def another_version_is_there(
    resource: Resource, name: str, wanted: str, found: str
) -> errors.Conflict:
    return errors.Conflict(
        f'Operation cannot be fulfilled on {_kind(resource)} "{name}": the ResourceVersion in the '
        f"precondition ({wanted}) does not match the ResourceVersion in record ({found}). The "
        "object might have been modified",
        status=409,
    )


def bad_request(why: str) -> errors.Invalid:
    return errors.Invalid(why, status=400)


def invalid(resource: Resource, name: str, problems: Iterable[FieldProblem]) -> errors.Invalid:
    found = [str(each) for each in problems]
    all_of_it = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    return errors.Invalid(f'{_kind(resource)} "{name}" is invalid: {all_of_it}', status=422)


def qualified(resource: Resource) -> str:
    group = _group(resource)
    return f"{resource.plural}.{group}" if group else resource.plural


def _kind(resource: Resource) -> str:
    kind, group = BY_RESOURCE[resource].name, _group(resource)
    return f"{kind}.{group}" if group else kind


def _group(resource: Resource) -> str:
    return resource.group_version.rpartition("/")[0]


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
