"""`rescheduler install`: the manifests, for whoever has the program and not its repository."""

from importlib import resources
from typing import Annotated, Any, Final, Literal

import typer
import yaml

from rescheduler import __version__
from rescheduler.cli.output import say
from rescheduler.cli.wrong_flags import Problems

EXAMPLES: Final = """Examples:
  # Only to look: it plans and tells, and is granted no right to move anything
  rescheduler install --print --image example/rescheduler:1 | kubectl apply -f -

  # To move pods
  rescheduler install --print --mode Auto --image example/rescheduler:1 | kubectl apply -f -

  # Take it off again
  rescheduler install --print --mode Auto | kubectl delete -f -"""

_DEFINITIONS: Final = ("crd.yaml", "plan-crd.yaml")
_POLICIES: Final = ("steering-policy.yaml", "leaving-policy.yaml")
_FILES: Final = (*_DEFINITIONS, "rbac.yaml", *_POLICIES, "config.yaml", "deployment.yaml")
_OF_POLICIES: Final = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
_IMAGE: Final = f"kube-rescheduler:{__version__}"

Document = dict[str, Any]


def install(
    *,
    prints: Annotated[
        bool, typer.Option("--print", help="Print the manifests, for kubectl apply -f -.")
    ] = False,
    mode: Annotated[
        Literal["DryRun", "Approve", "Auto"],
        typer.Option(
            help="DryRun only plans and tells; Approve moves what is approved; Auto moves pods."
        ),
    ] = "DryRun",
    image: Annotated[
        str, typer.Option(metavar="NAME:TAG", help="The image; none is published.")
    ] = _IMAGE,
    admission_policy: Annotated[
        bool,
        typer.Option(
            "--admission-policy/--no-admission-policy",
            help="Policies by which the API server steers; off before Kubernetes 1.36.",
        ),
    ] = True,
) -> None:
    """Print what is to be installed in a cluster.

    The same as kubectl apply -k manifests/rescheduler, or manifests/overlays/read-only, in the
    repository. It asks no cluster and changes none.

    Exit status: 0, 2 for wrong usage.
    """
    problems = Problems()
    if not prints:
        problems.refuse("--print", "is missing: rescheduler install --print | kubectl apply -f -")
    if not image:
        problems.refuse("--image", "is empty: name an image")
    problems.raise_if_any()
    chosen = to_look(image) if mode == "DryRun" else to_move(image, mode)
    if not admission_policy:
        chosen = [each for each in chosen if each["kind"] not in _OF_POLICIES]
    say(yaml.safe_dump_all(chosen, sort_keys=False, width=100))


def to_move(image: str, mode: str = "Auto") -> list[Document]:
    """What manifests/rescheduler installs; for another mode than Auto, with its component."""
    documents = [document for file in _FILES for document in _read(file)]
    container = _container(documents)
    container["image"] = image
    if mode != "Auto":
        container["env"] = [{"name": "RESCHEDULER_MODE", "value": mode}, *container["env"]]
    return documents


def to_look(image: str) -> list[Document]:
    """What manifests/overlays/read-only installs: nothing by which it could move anything."""
    documents = [each for each in to_move(image, "DryRun") if not _is_for_moving(each)]
    _deployment(documents)["spec"]["replicas"] = 1
    return documents


def _is_for_moving(document: Document) -> bool:
    kind, name = document["kind"], document["metadata"]["name"]
    kinds = ("Role", "RoleBinding", "PodDisruptionBudget", *_OF_POLICIES)
    is_of_plans = name == "rescheduler-scheduler-plans"
    return (kind in kinds and not is_of_plans) or name == "rescheduler-scheduler-moving"


def _read(file: str) -> list[Document]:
    folder = resources.files("rescheduler")
    path = folder / file if file in _DEFINITIONS else folder / "manifests" / file
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def _deployment(documents: list[Document]) -> Document:
    [found] = [each for each in documents if each["kind"] == "Deployment"]
    return found


def _container(documents: list[Document]) -> Document:
    [found] = _deployment(documents)["spec"]["template"]["spec"]["containers"]
    container: Document = found
    return container
