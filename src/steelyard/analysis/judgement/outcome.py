"""The outcome of a comparison, and its standing, which claims less where blocks are few."""

from __future__ import annotations

from typing import Literal

FEWEST_BLOCKS = 5
"""Behind a verdict: the scatter of fewer may be ten times too small or too large, whatever the interval."""

# different: proven, for a metric of which neither more nor less is better (Better "neither")
Outcome = Literal["better", "worse", "equivalent", "inconclusive", "different"]
Standing = Literal[
    Outcome, "leaning better", "leaning worse", "leaning equivalent", "leaning different", "not tested"
]

_LEANING: dict[Outcome, Standing] = {
    "better": "leaning better",
    "worse": "leaning worse",
    "equivalent": "leaning equivalent",
    "different": "leaning different",
}


def standing(outcome: Outcome, blocks: int) -> Standing:
    """What tables, charts and sentences call the outcome: fewer blocks than a verdict needs prove nothing."""
    if blocks == 1 and outcome == "inconclusive":
        return "not tested"
    return outcome if blocks >= FEWEST_BLOCKS else _LEANING.get(outcome, outcome)
