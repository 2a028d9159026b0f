"""Every way to escape, and every end of a study: nothing is left running."""

from __future__ import annotations

import pytest
from laboratory import Lab
from left_behind import (
    CLEARED,
    ENDINGS,
    SU,
    check_escape_from_instance,
    check_escape_from_server,
    check_left_by_prepare,
)
from left_behind import sleeper as sleeper


@pytest.mark.parametrize("escape", [CLEARED, SU])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_that_escaped_an_instance_is_ended(
    lab: Lab, sleeper: str, ending: str, escape: str
) -> None:
    check_escape_from_instance(lab, sleeper, ending, escape)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_that_prepare_left_is_ended_with_the_study(lab: Lab, sleeper: str, ending: str) -> None:
    check_left_by_prepare(lab, sleeper, ending)


@pytest.mark.parametrize("ending", ["normal", "Ctrl-C", "kill -9"])
def test_a_process_that_escaped_a_server_is_ended(lab: Lab, sleeper: str, ending: str) -> None:
    check_escape_from_server(lab, sleeper, ending)
