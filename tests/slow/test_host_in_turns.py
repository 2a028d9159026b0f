"""Host settings of options that take turns: undone when the study ends, and when it is interrupted."""

from __future__ import annotations

import signal

import pytest
from host_study import is_as_before
from laboratory import Lab


@pytest.mark.parametrize("kind", [None, signal.SIGINT])
def test_a_sysctl_changes_between_turns_and_is_as_before_however_the_lab_ends(
    lab: Lab, kind: signal.Signals | None
) -> None:
    is_as_before(lab, kind)
