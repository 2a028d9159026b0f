"""The latches of the latch engine as rows of the table `latches`: one family per load point."""

from __future__ import annotations

from steelyard.lab.engines.result import EngineResult
from steelyard.run_tables.rows import Columns, Rows

_SUMMED = ("gets", "misses", "spin_gets", "sleeps", "wait_ns", "hand_overs")


def latch_families(result: EngineResult) -> Columns:
    """One row per load point: its child latches, summed. Numbers that the protocol does not show are None."""
    children, facts = result.tables["latches"], result.facts
    unseen = {
        *(() if facts.sees_misses else ("misses", "spin_gets")),
        *(() if facts.sees_sleeps else ("sleeps", "wait_ns")),
    }
    # without a spin budget a worker sleeps at once, or spins until it has the latch, as in queueing protocols
    sleeps = facts.sees_sleeps and not facts.in_turn
    spin = facts.spin or (0 if sleeps else None)
    timed = result.tables["latch_histograms"]
    histograms = {
        (point, kind): histogram
        for point, kind, histogram in zip(timed["point"], timed["kind"], timed["histogram"], strict=True)
    }
    rows = Rows("latches")
    for point in dict.fromkeys(children["point"]):
        family = [index for index, other in enumerate(children["point"]) if other == point]
        sums = {
            name: sum(children[name][index] for index in family) for name in _SUMMED if name not in unseen
        }
        rows.add(
            point=point,
            latch=str(children["latch"][family[0]]).partition("#")[0],
            children=len(family),
            spin=spin,
            hold_histogram=histograms.get((point, "hold")),
            wait_histogram=histograms.get((point, "wait")),
            **sums,
        )
    return rows.columns()
