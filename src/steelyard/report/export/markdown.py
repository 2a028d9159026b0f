"""The verdict as Markdown, for an issue, a pull request, a wiki."""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.printable import printable
from steelyard.report.presented.presented import Presented
from steelyard.report.tables.ranking import table

# enough to know whose numbers these are; the report has the rest
_MACHINE = ("CPU", "cores", "kernel", "virtualisation")


def to_markdown(presented: Presented) -> str:
    """Question, answer, reasons, table of options, notices."""
    judgement, about = presented.judgement, presented.about
    lines = [f"**{_safe(judgement.question)}**", ""]
    lines += ["  \n".join(map(_safe, judgement.verdict.lines)), ""]
    lines += [f"- {_safe(reason)}" for reason in judgement.verdict.reasons]
    options = table(presented)
    heads = ["", *map(_cell, options.head), "blocks"]
    lines += ["", _row(heads), _row(["---", "---", *["---:"] * (len(heads) - 2)]).replace(" ", "")]
    for row, (label, *cells) in zip(presented.ranking, options.rows, strict=True):
        blocks = str(row.work.blocks) if row.work else fmt.MISSING
        lines.append(_row([row.mark, _code(label), *map(_cell, cells), blocks]))
    legend = f"; {_cell(presented.legend)}" if presented.legend else ""
    lines += ["", f"Figures are {_cell(presented.summary)} of runs{legend}.", ""]
    lines += [f"- {_safe(note.sentence)}" for note in presented.footnotes]
    facts = [about.machine[name] for name in _MACHINE if name in about.machine]
    machine = _safe("; ".join(facts)) or "machine unknown"
    server = f"{_safe(about.server_version)}; " if about.server_version else ""
    lines += [
        "",
        f"{server}{machine}; steelyard {_safe(about.steelyard_version)}; bundle {_code(about.bundle)}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    """Text that Markdown takes as text: neither markup, nor HTML, nor a new table cell."""
    marked = re.sub(r"([\\`*\[\]<>|#~&$]|\b_|_\b)", r"\\\1", _line(text))
    # at the beginning of a line they make a list
    return re.sub(r"^(\d*)([-+.)])", r"\1\\\2", marked)


def _cell(text: str) -> str:
    """The same of a number with its unit, which a study may choose; an interval stays as it is."""
    return re.sub(r"([\\`*<>|&$]|\](?=\())", r"\\\1", _line(text))


def _code(text: str) -> str:
    return "`{}`".format(_line(text).replace("`", "'").replace("|", "\\|"))


def _line(text: str) -> str:
    return printable(" ".join(text.split()))
