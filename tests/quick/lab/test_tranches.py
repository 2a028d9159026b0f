"""Sleeps and gets of latches, as probes and the sampling monitor give them: which rows they make."""

from __future__ import annotations

import os

from steelyard.lab.observe.latch_rows_postgres import Tranches
from steelyard.subjects.postgres.facts import tranche_names


def test_sleeps_that_were_missed_are_not_told_as_none() -> None:
    quiet = Tranches(os.getpid(), "group", tranche_names)
    quiet.measured(0)
    nobody = {name: [] for name in ("point", "role", "event", "sleeps", "wait_ns", "wait_histogram_base64")}
    quiet.take(nobody, {name: [] for name in ("point", "role", "tranche", "gets")}, ())
    quiet.compare(sampled(3))
    assert quiet.rows()["sleeps"] == [0] and not list(quiet.notices())
    quiet.compare(sampled(40))
    assert quiet.rows()["sleeps"] == []
    ((_, told),) = quiet.notices()
    assert "this build sleeps elsewhere" in told


GETS = {
    "point": [0, 0, 1],
    "role": ["server", "engine", "server"],
    "tranche": [56, 56, 56],
    "gets": [310, 31, 62],
}
COUNTED = {
    "phases": {"point": [0, 1], "phase": ["latch-count", "latch-count"], "start_ns": [1000, 5000]},
    "asides": {"point": [0, 1], "phase": ["latch-count", "latch-count"], "transactions": [100, 20]},
}
SLEPT = ("point", "role", "event", "sleeps", "wait_ns", "wait_histogram_base64")


def test_gets_stand_beside_sleeps_that_could_not_be_had():
    it = Tranches(os.getpid(), "group", tranche_names, gets=True)
    it.measured(0)
    it.take({name: [] for name in SLEPT}, GETS, [("latches", "no symbol")], {0: 900, 1: 4000})
    it.relate(COUNTED)
    assert it.counted() == {
        "point": [0, 1],
        "latch": ["tranche 56"] * 2,
        "gets": [310, 62],
        "transactions": [100, 20],
    }
    # not looked at, which is not none
    assert (it.rows()["latch"], it.rows()["sleeps"]) == (["tranche 56"] * 2, [None] * 2)


def test_gets_of_a_load_that_began_before_the_breakpoints_were_there_are_left_out():
    it = Tranches(os.getpid(), "group", tranche_names, gets=True)
    it.take({name: [] for name in SLEPT}, GETS, (), {0: 900, 1: 5001})
    it.relate(COUNTED)
    assert it.counted()["point"] == [0]
    assert any("before all breakpoints" in text for _, text in it.notices())


def test_who_asks_for_gets_alone_has_no_sleeps_probed():
    plan = Tranches(os.getpid(), "group", tranche_names, sleeps=False, gets=True).plan()
    assert plan is not None and (plan["sleeps"], plan["gets"]) == (False, True)


def sampled(waits: float) -> dict[str, list[object]]:
    """As the monitor reads: totals that grow."""
    return {
        "monitor": ["postgres-waits"] * 3,
        "entity": ["LWLock:WALWrite", "LWLock:WALWrite", "IO:WALSync"],
        "metric": ["samples_total"] * 3,
        "value": [1.0, waits, 1000.0],
    }
