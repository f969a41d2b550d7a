"""What admission makes of a copy is asked before one is made, and seen to when it is there. Pure.

Webhooks and defaults look at who owns a pod, by which labels, in which namespace; a copy has no
controller yet. So the API server is shown the pod as its ReplicaSet would make it, and the copy is
made of what it answers.
"""

from dataclasses import replace
from functools import partial
from typing import Any, Final

from rescheduler.migrate.deciding.actions import Outcome, Rehearse
from rescheduler.migrate.deciding.facts import Intent, Progress, Rehearsed, View
from rescheduler.migrate.deciding.surge import copies, likeness, resizing, withholding
from rescheduler.model.objects import Object, is_active
from rescheduler.model.podmigration import Reason

_DENIED: Final = ("denied request", "denied the request")
"""So policies and webhooks refuse, with whatever status."""
_FORBIDDEN: Final = " is forbidden: "
"""So the API server's own plug-ins do: PodSecurity, LimitRange, a class or an account that is gone.
"""
_INVALID: Final = " is invalid: "
_NO_RIGHT: Final = "cannot create resource"
_QUOTA: Final = "exceeded quota"
_NO_ANSWER: Final = "failed calling webhook"
_SIBLINGS: Final = 5


def template_of(replica_set: Object) -> str:
    """Another one for each version of a template."""
    metadata = replica_set["metadata"]
    return f"{metadata['uid']}/{metadata.get('generation', 1)}"


def of(progress: Progress, replica_set: Object) -> Rehearsed | None:
    """What is known of this template; None: nothing yet, or of an earlier one."""
    known = progress.rehearsed
    return known if known and known.template == template_of(replica_set) else None


def ask(
    intent: Intent, view: View, original: Object, replica_set: Object, progress: Progress
) -> Rehearse:
    template = replica_set["spec"]["template"]
    withheld = withholding.withheld_label(view, original, replica_set) or ""
    return Rehearse(
        template=template_of(replica_set),
        as_owner=_as_owner(intent, replica_set),
        copy_of=partial(_copy_of, intent, view.target, replica_set, withheld, progress),
        siblings=_some_siblings(view, original),
        resized=original if resizing.may_be(original, template) else None,
    )


def _some_siblings(view: View, original: Object) -> tuple[str, ...]:
    """Of the many that there may be, a few tell what they have in common."""
    uid = original["metadata"]["uid"]
    others = [pod for pod in view.pods if pod["metadata"]["uid"] != uid and is_active(pod)]
    return tuple(str(pod["metadata"]["name"]) for pod in others[:_SIBLINGS])


def _as_owner(intent: Intent, replica_set: Object) -> dict[str, Any]:
    """A pod just as the ReplicaSet controller asks for one."""
    owner, template = replica_set["metadata"], replica_set["spec"]["template"]
    metadata = template.get("metadata") or {}
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner["name"]}
    controls = {"uid": owner["uid"], "controller": True, "blockOwnerDeletion": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{owner['name']}-",
            "namespace": intent.namespace,
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "finalizers": list(metadata.get("finalizers") or ()),
            "ownerReferences": [{**reference, **controls}],
        },
        "spec": template["spec"],
    }


def _copy_of(
    intent: Intent,
    target: Object | None,
    replica_set: Object,
    withheld: str,
    progress: Progress,
    answer: Object | None,
) -> dict[str, Any]:
    return copies.build(
        intent, replica_set, withheld=withheld, at=progress.now, target=target, answer=answer
    )


def copy_of(
    intent: Intent, view: View, original: Object, replica_set: Object, progress: Progress
) -> dict[str, Any]:
    """The copy itself, made of what is known."""
    known = of(progress, replica_set)
    answer = known.answer if known else None
    template = replica_set["spec"]["template"]
    kept = resizing.kept(original, template, answer, progress.resized)
    return copies.build(
        intent,
        replica_set,
        withheld=withholding.withheld_label(view, original, replica_set) or "",
        at=progress.now,
        target=view.target,
        answer=None if known and known.is_given_twice else answer,
        original=original,
        kept=kept,
    )


def why_unlike(original: Object, copy: Object, replica_set: Object, progress: Progress) -> str:
    """Why the copy that was made is not what its ReplicaSet would have made; empty: it is."""
    known = of(progress, replica_set)
    return likeness.why_unlike(
        copy,
        template=replica_set["spec"]["template"],
        answer=known.answer if known else None,
        original=original,
        siblings=known.siblings if known else (),
    )


def may_be_resized_since(original: Object, replica_set: Object, progress: Progress) -> bool:
    """Whether who has sized it has to be asked again."""
    is_known = progress.resized_at >= resizing.generation(original)
    return not is_known and resizing.may_be(original, replica_set["spec"]["template"])


def is_outgrown(original: Object, copy: Object, replica_set: Object, progress: Progress) -> bool:
    """Whether the original was resized when its copy was there already."""
    known, template = of(progress, replica_set), replica_set["spec"]["template"]
    kept = resizing.kept(original, template, known.answer if known else None, progress.resized)
    return not resizing.are_alike(original, copy, kept)


# ---------------------------------------------------------------------- what the dry runs showed


def is_of_policy(words: str) -> bool:
    """Whether somebody's rule has refused: it is about such pods, and says nothing of others."""
    return any(each in words for each in _DENIED)


def is_of_admission(words: str) -> bool:
    """Whether such a pod is refused, whoever asks and however often."""
    if is_of_policy(words):
        return True
    is_forbidden = _FORBIDDEN in words and _NO_RIGHT not in words and not is_of_quota(words)
    return is_forbidden or is_invalid(words)


def is_invalid(words: str) -> bool:
    return _INVALID in words


def is_of_silent_webhook(words: str) -> bool:
    """A webhook that has to be asked does not answer, so nothing was made. It may in a moment, or
    not in dry runs.
    """
    return _NO_ANSWER in words


def is_of_quota(words: str) -> bool:
    """It may have room for one more in a moment."""
    return _QUOTA in words


def refusal(words: str) -> Outcome:
    message = f"admission refuses a copy of it: {words}"
    return Outcome(moved=False, reason=Reason.COPY_REFUSED, message=message)


def agreed(as_owner: Object, one: Object, other: Object) -> Object | None:
    """The pod that both answers show; None: it is another one each time."""
    answers = [likeness.without_steering(each, as_owner) for each in (one, other)]
    return answers[0] if likeness.agree(*answers) else None


def refused(known: Rehearsed, outcome: Outcome) -> Rehearsed:
    return replace(known, refusal=outcome)
