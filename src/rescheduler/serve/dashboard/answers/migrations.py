"""Moves that are carried out, or were. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase
from rescheduler.serve.dashboard.answers import Asked
from rescheduler.serve.dashboard.documents.migrations import (
    Migration,
    MigrationDocument,
    MigrationList,
    TimelineStep,
)
from rescheduler.serve.dashboard.documents.plans import PodName
from rescheduler.serve.dashboard.paging import Page
from rescheduler.serve.dashboard.refusing import BAD_REQUEST, Refused, not_found
from rescheduler.serve.dashboard.rights import Words

_WORDS = {
    "Check": "looks at the pod, its owner and its budget",
    "Mark": "marks the pod",
    "Create": "makes the copy on the target",
    "WaitReady": "waits until the copy is Ready",
    "WaitGroup": "waits for the others of its group",
    "Leave": "takes the original out of its Services, and lets it finish what it has",
    "HandOver": "the copy takes its place, the original is told to end",
    "Protect": "adds a temporary budget",
    "Steer": "asks that its successor comes to the target",
    "Evict": "evicts the pod",
    "WaitGone": "waits until the original is gone",
    "WaitReplacement": "waits until its successor is Ready",
    "CleanUp": "takes away what it needed on the way",
    "TakeBack": "takes the move back",
    "Done": "done",
}


def migrations(asked: Asked) -> MigrationList:
    """Raises Refused."""
    page, phases = Page.of(asked.given_all), _phases(asked.given("phase"))
    namespace, plan = asked.given("namespace"), asked.given("plan")
    there = [each for each in seen(asked) if not namespace or _namespace(each) == namespace]
    there = [each for each in there if not plan or podmigration.plan_of(each) == plan]
    counts = Counter(podmigration.phase_of(each).value for each in there)
    found = [each for each in there if not phases or podmigration.phase_of(each) in phases]
    found.sort(key=_age, reverse=True)
    return MigrationList(
        items=[row(each, asked.words) for each in page.cut(found)],
        continue_=page.next(len(found)),
        total=len(found),
        phases={each.value: counts[each.value] for each in Phase},
    )


def seen(asked: Asked) -> list[Object]:
    records = asked.view.records.items()
    return [each for (namespace, _), each in records if asked.rights.sees(namespace)]


def _phases(text: str) -> set[Phase]:
    known = {each.value.lower(): each for each in Phase}
    names = [each.strip().lower() for each in text.split(",") if each.strip()]
    if unknown := [each for each in names if each not in known]:
        raise Refused(
            BAD_REQUEST,
            f"phase: there is no {unknown[0][:30]!r}",
            field="phase",
            way_out=f"one of {', '.join(each.value for each in Phase)}",
        )
    return {known[each] for each in names}


def row(record: Object, words: Words) -> Migration:
    metadata = record["metadata"]
    way = podmigration.way_of(record)
    return Migration(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=str(metadata.get("uid") or ""),
        pod=PodName(
            namespace=metadata["namespace"],
            name=podmigration.pod_name(record),
            uid=podmigration.pod_uid(record),
        ),
        from_=podmigration.source_of(record),
        to=podmigration.target_of(record),
        way=way.value if way else "",
        strategy=podmigration.strategy_of(record),
        phase=podmigration.phase_of(record).value,
        step=podmigration.step_name(record),
        reason=podmigration.reason_of(record),
        message=words(podmigration.message_of(record)),
        why=words(podmigration.why_of(record)),
        plan=podmigration.plan_of(record),
        new_pod=str(podmigration.new_pod_of(record).get("name") or ""),
        attempt=podmigration.attempt_of(record),
        created_at=_at(record, podmigration.created_at),
        started_at=_at(record, podmigration.started_at),
        ended_at=_at(record, podmigration.ended_at),
        step_at=_at(record, podmigration.step_began_at),
    )


def migration(asked: Asked) -> MigrationDocument:
    """Raises Refused."""
    namespace, name = asked.named("namespace"), asked.named("name")
    record = asked.view.records.get((namespace, name))
    if record is None or not asked.rights.sees(namespace):
        raise not_found(f"migration {namespace}/{name}")
    owner = podmigration.owner_of(record)
    settings = podmigration.settings_of(record)
    return MigrationDocument(
        migration=row(record, asked.words),
        steps=timeline(record, asked.view.steps.get(str(record["metadata"].get("uid")), ())),
        owner=f"{owner.get('kind')}/{owner.get('name')}" if owner.get("name") else "",
        settings={str(key): str(each) for key, each in settings.items()},
        holder=podmigration.holder_of(record),
        commands={
            "show": f"rescheduler get migrations {name} -n {namespace} -o yaml",
            "explain": f"rescheduler explain pod {namespace}/{podmigration.pod_name(record)}",
            **(
                {"retry": f"rescheduler retry {name} -n {namespace}"}
                if podmigration.has_failed(record)
                else {}
            ),
        },
    )


def timeline(record: Object, seen: Sequence[tuple[str, datetime]]) -> list[TimelineStep]:
    """Each ends as the next one begins."""
    steps = list(seen)
    began = _at(record, podmigration.step_began_at) or _at(record, podmigration.started_at)
    step = podmigration.step_name(record)
    if step and began is not None and all(each != step for each, _ in steps):
        steps.append((step, began))
    steps.sort(key=lambda each: each[1])
    ended = _at(record, podmigration.ended_at)
    ends = [at for _, at in steps[1:]]
    return [
        TimelineStep(step=each, began_at=at, ended_at=end, words=_WORDS.get(each, ""))
        for (each, at), end in zip(steps, [*ends, ended], strict=False)
    ]


def _namespace(record: Object) -> str:
    return str(record["metadata"]["namespace"])


def _age(record: Object) -> tuple[str, str]:
    metadata = record["metadata"]
    return metadata.get("creationTimestamp") or "", str(metadata["name"])


def _at(record: Object, read: Callable[[Object], datetime | None]) -> datetime | None:
    """What a person has written there may be no time."""
    try:
        found = read(record)
    except ValueError:
        return None
    return found if found is None or found.tzinfo else None
