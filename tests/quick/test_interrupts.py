"""Signals: an interrupt is never lost, and waits for what is being written."""

from __future__ import annotations

import os
import signal
import time

import pytest

from steelyard.host.processes.signals import Interrupts


def test_an_interrupt_is_one_whatever_a_library_makes_of_it() -> None:
    heard: list[str] = []
    with pytest.raises(KeyboardInterrupt), Interrupts(lambda: heard.append("first")).raised():
        try:
            # not SIGINT, which whoever runs in a background has ignored
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        except KeyboardInterrupt:
            # what DuckDB says when one falls into a query
            raise RuntimeError("Query interrupted") from None
    assert heard == ["first"]


def test_an_interrupt_within_a_finalizer_is_not_lost() -> None:
    class Finalized:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), Interrupts().raised():
        Finalized()
        time.sleep(10)
        pytest.fail("the signal had no effect")


def test_an_interrupt_waits_until_what_is_written_is_written() -> None:
    written: list[str] = []
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt), interrupts.raised():
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            written.append("all of it")
        written.append("and more")
    assert written == ["all of it"]
