"""The answer at the head of the page: its chip, its codes and what the winner changes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Judgement
from steelyard.report.presented.headings import heading
from steelyard.report.presented.presented import Presented

if TYPE_CHECKING:
    from markupsafe import Markup

_CHIPS = {
    "winner": "✓ winner",
    "leaning": "◔ leaning, too few blocks",
    "tie": "= equivalent",
    "trade-off": "⇄ trade-off",
    "inconclusive": "~ no difference shown",
    "it depends": "≠ it depends",
    "measured": "measured",
    "nothing to compare": "nothing to compare",
    "unequal work": "⚠ not the same work",
}


def chip(judgement: Judgement) -> str:
    """The outcome in a few words."""
    outcome, found = judgement.verdict.outcome, judgement.comparisons
    if outcome == "inconclusive" and found and all(one.standing == "not tested" for one in found):
        return "? measured once"
    return _CHIPS[outcome]


def speaker(labels: Iterable[str]) -> Any:
    """A filter: text escaped, option labels in it set as code, whole words with their hyphens."""
    from markupsafe import Markup, escape

    longest_first = sorted(labels, key=len, reverse=True)
    pattern = re.compile(
        "|".join(rf"(?<![\w-]){re.escape(label)}(?![\w-])" for label in longest_first) or r"(?!)"
    )

    def say(text: str) -> Markup:
        out, at = Markup(), 0
        for match in pattern.finditer(text):
            out += escape(fmt.unbroken(text[at : match.start()]))
            out += Markup("<code>{}</code>").format(match.group())
            at = match.end()
        return out + escape(fmt.unbroken(text[at:]))

    return say


def tiles(presented: Presented) -> list[dict[str, str]]:
    """What the winner changes, in three figures, each of a named option. Nothing where nothing won.

    Where the baseline wins they are those of the best other option.
    """
    if presented.judgement.verdict.outcome != "winner":
        return []
    return [
        {
            "title": heading(metric),
            "option": item.option,
            "value": fmt.change(item.ratio),
            "detail": f"ratio to {item.baseline}: {fmt.ratio(item.ratio, item.low, item.high)}"
            + presented.about.over(", geometric mean over "),
            "outcome": item.outcome,
        }
        for metric in presented.judged
        for item in presented.comparisons[metric.name]
        if item.option == presented.leading
    ]
