"""The verdict as Markdown, for an issue, a pull request, a wiki."""

from __future__ import annotations

import re

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Judgement
from steelyard.printable import printable
from steelyard.report.about.about import About
from steelyard.report.presented.footnotes import footnotes
from steelyard.report.presented.ranking import heading, headline, legend, ranked, summary

# enough to know whose numbers these are; the report has the rest
_MACHINE = ("CPU", "cores", "kernel", "virtualisation")


def to_markdown(judgement: Judgement, about: About) -> str:
    """Question, answer, reasons, table of options, notices."""
    found = headline(judgement.metrics)
    cpu = heading(found.cpu) if found.cpu and found.throughput and found.work != "TPS" else "server CPU/txn"
    lines = [f"**{_safe(judgement.question)}**", "", _safe(judgement.verdict.sentence), ""]
    lines += [f"- {_safe(reason)}" for reason in judgement.verdict.reasons]
    lines += [
        "",
        f"| | option | {_cell(found.work_over(about))} [95 % interval] | ratio to the baseline | {_cell(cpu)}"
        " | p50 | p99 | blocks |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in ranked(judgement):
        tps, versus = row.throughput, row.comparison
        cells = [
            row.mark,
            _code(row.label),
            _cell(found.done(tps, fmt.interval)),
            fmt.ratio(versus.ratio, versus.low, versus.high)
            if versus
            else ("baseline" if row.is_baseline else fmt.MISSING),
            *(
                _cell(fmt.quantity(fit.value, metric.unit)) if fit and metric else fmt.MISSING
                for metric, fit in ((found.cpu, row.cpu), (found.p50, row.p50), (found.p99, row.p99))
            ),
            str(tps.blocks) if tps else fmt.MISSING,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"Figures are {_cell(summary(about))} of runs; {_cell(legend(found))}.",
        "",
    ]
    lines += [f"- {_safe(note.sentence)}" for note in footnotes(judgement, about)]
    told = [about.machine[name] for name in _MACHINE if name in about.machine]
    machine = _safe("; ".join(told)) or "machine unknown"
    server = f"{_safe(about.server_version)}; " if about.server_version else ""
    lines += [
        "",
        f"{server}{machine}; steelyard {_safe(about.steelyard_version)}; bundle {_code(about.bundle)}",
    ]
    return "\n".join(lines) + "\n"


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
