"""A machine that is suspended under load: the clock since its boot goes on, while nothing waits or works."""

from __future__ import annotations

import time

import pytest

from steelyard.lab.engines.result import LoadFailed
from steelyard.lab.run_parts import Pulse


def test_a_suspended_machine_is_a_gap_of_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    asleep_s, clock = [0.0], time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda which: clock(which) + asleep_s[0])
    with (
        pytest.raises(LoadFailed, match=r"stood still for (89\.|90)[.\d]* s under load: .*suspended"),
        Pulse(),
    ):
        time.sleep(0.1)
        asleep_s[0] = 90.0


def test_a_load_that_goes_on_has_no_gap() -> None:
    with Pulse():
        time.sleep(0.5)
