"""Names that people give: refused, before anything is asked for, when nothing can be named so.

Each raises WrongFlags.
"""

from collections.abc import Iterable

from rescheduler.cli.wrong_flags import Problems
from rescheduler.documents.object_names import why_no_name, why_no_namespace
from rescheduler.documents.places import quoted


def insist_on_pod(text: str, namespace: str = "") -> None:
    """NAME, or NAMESPACE/NAME; and the namespace of the flag, if there is one."""
    problems = Problems()
    where, slash, name = text.partition("/")
    if not slash:
        where, name = "", text
    # Of a wrong path, its namespace is no part that anybody meant.
    if why := why_no_name(name) or (slash and why_no_namespace(where)):
        told = f"{quoted(text)} is not the name of a pod, NAME or NAMESPACE/NAME: {why}"
        problems.refuse("POD", told)
    _check_namespaces(problems, "-n", [namespace] if namespace else [])
    problems.raise_if_any()


def insist_on_node(flag: str, name: str, skipped: Iterable[str] = ()) -> None:
    """And on namespaces that are left out."""
    problems = Problems()
    _check(problems, flag, "a node", name)
    _check_namespaces(problems, "--skip-namespace", skipped)
    problems.raise_if_any()


def insist_on_records(names: Iterable[str], namespace: str = "") -> None:
    problems = Problems()
    for each in names:
        _check(problems, "NAME", "a PodMigration", each)
    _check_namespaces(problems, "-n", [namespace] if namespace else [])
    problems.raise_if_any()


def insist_on_plans(flag: str, names: Iterable[str]) -> None:
    """With their type before them or without, as they are printed."""
    # Slow to import, and not needed to print a usage message.
    from rescheduler.controller.plans import by_hand

    problems = Problems()
    for each in names:
        _check(problems, flag, "a ReschedulePlan", by_hand.plain(each))
    problems.raise_if_any()


def _check(problems: Problems, flag: str, of_what: str, name: str) -> None:
    if why := why_no_name(name):
        problems.refuse(flag, f"{quoted(name)} is not the name of {of_what}: {why}")


def _check_namespaces(problems: Problems, flag: str, names: Iterable[str]) -> None:
    for each in names:
        if why := why_no_namespace(each):
            problems.refuse(flag, f"{quoted(each)} is not the name of a namespace: {why}")
