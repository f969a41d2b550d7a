"""Real nodes are of the control plane's own version, and of the modules that it has compiled."""

import re

from testbed import build

CONTROL_PLANE, NODES = (build.PINS / name / "go.mod" for name in ("1.36", "nodes"))


def versions(text: str) -> dict[str, str]:
    """By module: those that are required, and those that take the place of others."""
    required = dict(re.findall(r"^\t(\S+) (v\S+)", text, re.MULTILINE))
    replaced = dict(re.findall(r"^(?:replace|\t)\s*(\S+) => (\S+ ?\S*)$", text, re.MULTILINE))
    return {**required, **{f"{name} =>": by for name, by in replaced.items()}}


def test_what_both_need_both_have_in_one_version() -> None:
    control_plane, nodes = (versions(path.read_text()) for path in (CONTROL_PLANE, NODES))
    both = control_plane.keys() & nodes.keys()
    assert {"k8s.io/kubernetes", "k8s.io/api =>"} <= both
    assert len(both) > 100
    assert {name: nodes[name] for name in both} == {name: control_plane[name] for name in both}
