"""What the tables of a source answer, and whether the figures that it gives follow from them."""

import math
from collections.abc import Iterator
from typing import Any

from steelyard.analysis.judgement.verdict import Claim, Verdict
from steelyard.bundle.evidence.published import Published
from steelyard.quantities import significant, with_unit

_UNKNOWN = ("the source gives no figures for it", "the query gives no number")


def claims(published: Published | None) -> Iterator[Claim]:
    """Each figure of the source, and the same from its tables: right to one unit of its last decimal.

    Half a unit would be too strict there: the source rounded its inputs too.
    """
    for given in published.work.claims if published else ():
        said, unit = given.published, given.unit
        row, why = published.first(given.sql) if published and given.sql else ((), given.why)
        value, *remarks = _number(row) or (None, why or _UNKNOWN[bool(given.sql)])
        check, decimals = "cannot be checked", len(said.partition(".")[2])
        if value is not None:
            up_to, step = given.qualifier == "up to", 10.0**-decimals
            # a whole figure without a word such as `about` is exact but for rounding
            step = step if decimals or given.qualifier else 0.5
            beyond = abs(value) - abs(float(said)) if up_to else abs(value - float(said))
            check = "agrees" if beyond <= step * (1 + 1e-9) else "does not follow"
        yield Claim(
            given.says,
            f"{given.qualifier} {with_unit(_rounded(float(said), decimals), unit)}".strip(),
            "" if value is None else with_unit(_digits(value, decimals), unit),
            check,
            str((remarks or [""])[0] or ""),
        )


def _number(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its figure as a finite number; empty where it is none."""
    try:
        figure, *remarks = row
        return (float(figure), *remarks) if math.isfinite(figure) else ()
    except (TypeError, ValueError):
        return ()


def _digits(value: float, decimals: int) -> str:
    """As many as the source gives, and at least three that count; of a whole number all."""
    whole, short = value.is_integer(), significant(value)
    text = _rounded(value, 0 if whole else decimals)
    return text if whole or len(text) >= len(short) else short


def _rounded(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", "−")


def answer(published: Published | None) -> Verdict | None:
    """The sentences of a recording that says what its tables answer; None of one that does not."""
    if published is None or (given := published.work.answer) is None:
        return None
    (follows, why), (left_open, why_not) = map(published.first, (given.follows, given.left_open))
    return Verdict(
        outcome="published",
        winner=None,
        headline=str(follows[0]) if follows else f"The tables do not answer the question: {why}.",
        interval=str(left_open[0]) if left_open else f"What is open cannot be told: {why_not}.",
        consequence=given.settle + (f": steelyard run {given.twin}" if given.twin else ""),
    )
