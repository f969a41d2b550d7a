"""Whom a run of real nodes takes for its own."""

import subprocess
import sys

from testbed.realnodes import traces


def test_a_process_that_has_ended_has_no_namespace_that_others_are_in() -> None:
    """As of a pod's process that ends while it is looked at: everybody whose namespaces cannot be
    read would be taken for one of ours that is left over.
    """
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
        assert traces.namespaces_of([ended.pid]) == set()
    assert traces.inhabitants(traces.namespaces_of([ended.pid])) == []
