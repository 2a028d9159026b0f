"""What a verdict decides, and the words of an answer, before both are put together; and the words where
options did not do the same work: none of them wins.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.analysis.judgement.verdict import Answer, Difference
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import count, significant

_WORDS_MAX = 19  # of a headline, and one more for `Leaning:`


@dataclass(frozen=True)
class Decision:
    """The outcome, and whom it names. leaning: what is decided is not proven.

    compared: the options that the headline is about; explained: those of which it says what their codes
    stand for; doubts: a sentence each, before all reasons.
    """

    outcome: Answer
    winner: str | None = None
    ties: tuple[str, ...] = ()
    compared: Sequence[str] = ()
    explained: Sequence[str] = ()
    doubts: Sequence[str] = ()
    leaning: bool = False


class Words(NamedTuple):
    """The answer in words; see Verdict."""

    headline: str
    interval: str = ""
    consequence: str = ""
    reasons: Iterable[str] = ()


def fitting(*sentences: str) -> str:
    """The first of the sentences that is short enough, the fullest given first; else the last one."""
    return next((sentence for sentence in sentences if len(sentence.split()) <= _WORDS_MAX), sentences[-1])


def joined(*sentences: str) -> str:
    """Sentences on one line, without those that are empty."""
    return " ".join(filter(None, sentences))


def capitalised(text: str) -> str:
    """The text as the beginning of a sentence; an abbreviation such as CPU stays as it is."""
    return text[:1].upper() + text[1:]


_DIGITS_MAX = 9
# of PostgreSQL's plans and of MariaDB's
_NODES = re.compile(r'"(?:Node Type|Relation Name|Index Name|table_name|access_type|key)": "([^"]+)"')


def unequal_work(evidence: Evidence, found: Sequence[Difference]) -> Words:
    """The foremost difference first, with both figures; then the others, and the server's plans."""
    first, *others = found
    options = {one.option for one in found}
    return Words(
        fitting(f"Not the same work: {difference(first)}.", f"Not the same work: {first.statement} differs."),
        f"Seen {first.seen}.",
        f"No option wins: {count(len(options), 'option')} did other work than {first.baseline}, so figures of"
        f' time do not compare. If it is meant: rows = "may differ" on the statement.',
        [f"{difference(one)} ({one.seen})." for one in others] + _plans(evidence, first),
    )


def difference(one: Difference) -> str:
    """`look returns no rows under STAGE, 200 under LIVE`, fewer rows first."""
    name, option, baseline = one.statement, one.option, one.baseline
    if one.how == "ran out":
        return f"{name} ran out under {option}: no row after {one.rows:,.0f} executions"
    if one.how == "error":
        return f"{name} fails under {option}, or under {baseline}, but not under both"
    if one.how == "value":
        return f"{name} returns other numbers under {option} than under {baseline}"
    (few, where), (many, beside) = sorted(((one.rows, option), (one.baseline_rows, baseline)))
    less, more = _rows(few, many)
    does = "writes" if one.how == "writes" else "returns"
    if few == many:
        return f"{name} {does} other numbers of rows under {option} than under {baseline}"
    return f"{name} {does} {less} under {where}, {more} under {beside}"


def _rows(few: float, many: float) -> tuple[str, str]:
    """`no rows`, `200`; `0.98 rows`, `1`: with digits enough to tell them apart."""
    if float(few).is_integer() and float(many).is_integer():
        return count(int(few), "row") if few else "no rows", f"{many:,.0f}"
    digits = next(
        (n for n in range(3, _DIGITS_MAX) if significant(few, n) != significant(many, n)), _DIGITS_MAX
    )
    return f"{significant(few, digits)} rows" if few else "no rows", significant(many, digits)


def _plans(evidence: Evidence, first: Difference) -> list[str]:
    """How the server executes the statement, where it does so in two ways."""
    query = """
        select option, arg_max(plan, rowid) from rehearsal
        where step = 'statement' and statement = $name and plan <> '' group by option
    """
    known, labels = dict(evidence.rows(query, name=first.statement)), (first.option, first.baseline)
    plans = [", ".join(_NODES.findall(known.get(label, ""))) for label in labels]
    if not all(plans) or plans[0] == plans[1]:
        return []
    return [f"Plan of {first.statement}: {plans[0]} under {labels[0]}, {plans[1]} under {labels[1]}."]
