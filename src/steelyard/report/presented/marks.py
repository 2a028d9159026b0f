"""The outcome of a comparison as one sign."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Outcome

MARKS: dict[Outcome, str] = {
    "better": "▲",
    "worse": "▼",
    "equivalent": "=",
    "inconclusive": "~",
    "different": "≠",
}
# what tables, verdict and legend call each
WORDS: dict[Outcome, str] = {
    "better": "better",
    "worse": "worse",
    "equivalent": "equivalent",
    "inconclusive": "no difference shown",
    "different": "different",
}
MARKS_MEAN = "▲ better, ▼ worse, = equivalent, ~ no difference shown"
