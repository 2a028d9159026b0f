"""What columns and charts are called; the standing of a comparison as one sign, and as a word."""

from collections.abc import Iterable

from steelyard.analysis.judgement import FEWEST_BLOCKS, Comparison, Metric, Standing

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


def heading(metric: Metric) -> str:
    """`Server CPU per transaction` for a metric titled `server CPU` in us/txn."""
    title = metric.title[:1].upper() + metric.title[1:]
    if not metric.name.endswith(("_per_txn", "_per_score")):
        return title
    return f"{title} per {metric.work}"


def work_at_a_point(metric: Metric | None) -> str:
    """The work done at one load point: TPS, lookups/s, the unit of a score, or what it took."""
    unit = metric.unit if metric else ""
    if metric and metric.name == "query_geomean_ms":
        return "geomean"
    if metric and (not unit or metric.better == "lower"):
        return heading(metric).lower()
    return "TPS" if unit == "transactions/s" else unit


def marks_mean(comparisons: Iterable[Comparison]) -> str:
    """The marks that these comparisons have, with their words; '' of none."""
    found = {
        f"{MARKS[one.standing]} {WORDS[one.standing]}" if one.standing in ("not tested", "different") else
        _PROVEN if one.blocks >= FEWEST_BLOCKS else _LEANING
        for one in comparisons
    }  # fmt: skip
    return "; ".join(sorted(found, reverse=True))
