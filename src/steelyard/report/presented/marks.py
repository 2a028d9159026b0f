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
MARKS_MEAN = "▲ better, ▼ worse, = equivalent, ~ no difference shown"
