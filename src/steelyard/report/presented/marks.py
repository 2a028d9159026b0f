"""The standing of a comparison as one sign, and as a word."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.analysis.judgement.outcome import FEWEST_BLOCKS, Standing
from steelyard.analysis.judgement.results import Comparison

MARKS: dict[Standing, str] = {
    "better": "▲",
    "worse": "▼",
    "equivalent": "=",
    "inconclusive": "~",
    "different": "≠",
    "leaning better": "△",
    "leaning worse": "▽",
    "leaning equivalent": "≈",
    "leaning different": "◇",
    "not tested": "?",
}
OTHER_WORK = "!"
# what tables, verdict and legend call each
WORDS: dict[Standing, str] = {
    **{standing: standing for standing in MARKS},
    "inconclusive": "no difference shown",
    "not tested": "not tested: one run each",
}
_PROVEN = "▲ better, ▼ worse, = equivalent, ~ no difference shown"
_LEANING = (
    "△ leaning better, ▽ leaning worse, ≈ leaning equivalent"
    f" (fewer than {FEWEST_BLOCKS} blocks prove nothing), ~ no difference shown"
)


def marks_mean(comparisons: Iterable[Comparison]) -> str:
    """The marks that these comparisons have, with their words; '' of none."""
    found = {
        f"{MARKS[one.standing]} {WORDS[one.standing]}" if one.standing in ("not tested", "different") else
        _PROVEN if one.blocks >= FEWEST_BLOCKS else _LEANING
        for one in comparisons
    }  # fmt: skip
    return "; ".join(sorted(found, reverse=True))
