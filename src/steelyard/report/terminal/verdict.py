"""The verdict in the terminal: the answer, the reasons, the table, what to type next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from steelyard import quantities as fmt
from steelyard.analysis.comparison.notices import FEWEST_BLOCKS
from steelyard.analysis.judgement.results import Comparison, Judgement, Metric
from steelyard.printable import printable
from steelyard.report.about.about import About
from steelyard.report.charts.figure import Table
from steelyard.report.presented.footnotes import Footnote, footnotes
from steelyard.report.presented.ranking import (
    Headline,
    Row,
    effects_of,
    heading,
    headline,
    legend,
    ranked,
    summary,
)
from steelyard.report.tables.latches import latch_table, sleep_table
from steelyard.report.tables.programs import copies_table
from steelyard.report.tables.queries import query_table
from steelyard.report.terminal.progress import MatrixPlan as MatrixPlan
from steelyard.report.terminal.progress import Progress as Progress

_MOST_ROWS = 16
_BEST_ROWS = 10
_MOST_NOTICES = 12
_MOST_CURVES = 4
_GAP = "  "
_JOINT = "\ue000"  # keeps a number and its per cent sign on one line
_LEANING = "yellow"
_STYLES = {"better": "green", "worse": "red", "equivalent": "", "inconclusive": "dim", "different": ""}

Line = Sequence[tuple[str, str]]


def print_verdict(judgement: Judgement, about: About, console: Console) -> None:
    """Prints what an expert would say, on `console` (standard output); readable at 80 columns.

    print_next follows, once the report is written.
    """
    _say(console, judgement.question, "dim")
    _say(console, judgement.verdict.sentence, "bold")
    for reason in judgement.verdict.reasons:
        _say(console, reason, hang="  - ")
    console.print()
    notes = footnotes(judgement, about)
    _table(judgement, about, notes, console)
    _aligned(copies_table(judgement, about), console)
    _aligned(latch_table(judgement, about), console)
    _aligned(sleep_table(judgement, about), console)
    _aligned(query_table(judgement, about), console)
    _factors(judgement, console)
    _scaling(judgement, about, console)
    _footnotes(notes, console)
    console.print()
    _pointer("lab", _lab(judgement, about), console)


def print_next(judgement: Judgement, about: About, console: Console) -> None:
    """Where the results are, and what to type next."""
    _pointer("bundle", about.bundle, console)
    _pointer("report", about.report, console)
    _pointer("probes", _probes(judgement, about), console)
    _pointer("next", about.next_command, console, "bold")


def _probes(judgement: Judgement, about: About) -> str:
    """What the kernel's probes told is too much for a terminal: where it stands."""
    told = {
        "where CPU time goes": judgement.profile,
        "kernel locks": judgement.locks,
        "scheduling": judgement.scheduling,
    }
    found = [name for name, rows in told.items() if len(rows)]
    return f"{', '.join(found)}: in the report" if found and about.report else ""


def _pointer(name: str, text: str, console: Console, style: str = "") -> None:
    if text:
        _line(console, [(f"{name:<6}{_GAP}", "dim"), (text, style)])


def _lab(judgement: Judgement, about: About) -> str:
    """What measuring cost: the load engine's CPU, and that of the monitors."""
    engine = [
        estimate.value
        for estimate in judgement.estimates
        if estimate.metric == "engine_cpu_us_per_txn" and estimate.clients is None
    ]
    parts: list[str] = []
    if engine:
        low, high = fmt.together([min(engine), max(engine)])
        parts.append(f"engine {low if low == high else f'{low} to {high}'} µs CPU per transaction")
    known = [monitor.cpu_percent for monitor in about.monitors if monitor.cpu_percent is not None]
    if known:
        parts.append(f"monitors {fmt.significant(sum(known))} % of a CPU")
    return "; ".join(parts)


def _say(console: Console, text: str, style: str = "", hang: str = "") -> None:
    indent = " " * len(hang)
    kept = _printable(text).replace(" %", _JOINT + "%")
    for number, line in enumerate(Text(kept).wrap(console, max(20, console.width - len(hang)))):
        words = line.plain.rstrip().replace(_JOINT, " ")
        _line(console, [(indent if number else hang, "dim"), (words, style)])


def _line(console: Console, parts: Line) -> None:
    """One line, never cut: a narrow window folds it, a pipe keeps it whole."""
    text = Text.assemble(*((_printable(part), style) for part, style in parts))
    text.rstrip()
    console.print(text, soft_wrap=True)


def _printable(text: str) -> str:
    """On one line, and without what steers a terminal: a server's error is shown here too."""
    return printable(re.sub(r"[\n\t]", " ", text))


def _table(judgement: Judgement, about: About, notes: Sequence[Footnote], console: Console) -> None:
    found = headline(judgement.metrics)
    every = ranked(judgement)
    shown = _shown(every)
    heads = _heads(found, about)
    cells = [_cells(row, found) for row in shown]
    labels = [row.label + _marks(row, notes) for row in shown]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    room = console.width - 2 - sum(width + len(_GAP) for width in widths)
    beside = max(map(len, labels)) <= room
    lead = max(map(len, [*labels, "option"])) if beside else 4
    _line(console, [(f"  {'option' if beside else '':<{lead}}", "dim"), (_joined(heads, widths), "dim")])
    for place, (row, label, texts) in enumerate(zip(shown, labels, cells, strict=True)):
        left_out = every.index(row) - every.index(shown[place - 1]) - 1 if place else 0
        if left_out:
            _line(console, [(f"  … {fmt.count(left_out, 'option')} between", "dim")])
        style = _style(row.comparison)
        named = "bold" if row.is_winner else ""
        if beside:
            _line(
                console, [(f"{row.mark} ", style), (f"{label:<{lead}}", named), (_joined(texts, widths), "")]
            )
        else:
            _line(console, [(f"{row.mark} ", style), (label, named)])
            _line(console, [(" " * (lead + 2), ""), (_joined(texts, widths), "")])
    blocks = sorted({row.throughput.blocks for row in every if row.throughput})
    numbers = "–".join(map(str, sorted({blocks[0], blocks[-1]}))) if blocks else ""
    many = f"n = {numbers} block{'s' * (numbers != '1')}; " if numbers else ""
    _say(console, f"{many}{summary(about)}, 95 % intervals; {legend(found)}", "dim", hang="  ")


def _style(comparison: Comparison | None) -> str:
    """Colour of a mark; few blocks make no finding, whatever their interval."""
    if comparison is None:
        return ""
    found = comparison.outcome in ("better", "worse")
    return _LEANING if found and comparison.blocks < FEWEST_BLOCKS else _STYLES[comparison.outcome]


def _marks(row: Row, notes: Sequence[Footnote]) -> str:
    return "".join(f"[{number}]" for number, note in enumerate(notes, start=1) if row.label in note.about)


def _shown(rows: list[Row]) -> list[Row]:
    if len(rows) <= _MOST_ROWS:
        return rows
    return [
        row
        for place, row in enumerate(rows)
        if place < _BEST_ROWS or row.is_baseline or place == len(rows) - 1
    ]


def _joined(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"{_GAP}{text:>{width}}" for text, width in zip(texts, widths, strict=True))


def _heads(found: Headline, about: About) -> list[str]:
    return [
        *([found.work_over(about, short=True), "ratio"] if found.throughput else []),
        *([f"CPU/{found.cpu.unit.partition('/')[2]}"] if found.cpu else []),
        *([" / ".join(_tails(found))] if _tails(found) else []),
    ]


def _tails(found: Headline) -> list[str]:
    return [name for name, metric in (("p50", found.p50), ("p99", found.p99)) if metric]


def _cells(row: Row, found: Headline) -> list[str]:
    cells: list[str] = []
    if found.throughput:
        cells.append(found.done(row.throughput, fmt.thousands))
        versus = row.comparison
        missing = "baseline" if row.is_baseline else fmt.MISSING
        cells.append(fmt.ratio(versus.ratio, versus.low, versus.high) if versus else missing)
    if found.cpu:
        cells.append(fmt.quantity(row.cpu.value, found.cpu.unit) if row.cpu else fmt.MISSING)
    pairs = [(found.p50, row.p50), (found.p99, row.p99)]
    tails = [(metric, fit.value if fit else float("nan")) for metric, fit in pairs if metric]
    if tails:
        cells.append(_side_by_side(tails))
    return cells


def _side_by_side(pairs: Sequence[tuple[Metric, float]]) -> str:
    """`161 / 402 µs`; `134 µs / 406 ms` where one unit does not suit both."""
    cells = [fmt.quantity(value, metric.unit) for metric, value in pairs]
    units = {cell.partition(" ")[2] for cell in cells if cell != fmt.MISSING}
    if len(units) > 1:
        return " / ".join(cells)
    return fmt.with_unit(" / ".join(cell.partition(" ")[0] for cell in cells), "".join(units))


def _aligned(table: Table | None, console: Console) -> None:
    if table is None:
        return
    widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]
    console.print()
    for number, (name, *cells) in enumerate((table.head, *table.rows)):
        _line(console, [(f"{name:<{widths[0]}}{_joined(cells, widths[1:])}", "" if number else "dim")])


def _factors(judgement: Judgement, console: Console) -> None:
    metric = headline(judgement.metrics).throughput
    effects = effects_of(judgement, metric) if metric else []
    if metric is None or len({name for effect in effects for name in effect.factors}) < 2:
        return
    console.print()
    _line(
        console,
        [(f"  What matters: share of the variation in {heading(metric).lower()}, 95 % interval", "dim")],
    )
    drawn = [effect for effect in effects if effect.share >= 0.005][:8]
    names = [" × ".join(effect.factors) for effect in drawn]
    width = max((len(name) for name in names), default=0)
    for name, effect in zip(names, drawn, strict=True):
        levels = _levels(effect.levels.items()) if len(effect.factors) == 1 else ""
        share = f"{fmt.percent(effect.share):>7}{_GAP}{fmt.share_interval(effect.low, effect.high):<9}"
        _say(console, levels, hang=f"  {name:<{width}}{_GAP}{share}{_GAP}")


def _scaling(judgement: Judgement, about: About, console: Console) -> None:
    if not judgement.scaling:
        return
    console.print()
    _line(console, [(f"  With more {about.points_are}", "dim")])
    for found in judgement.scaling[:_MOST_CURVES]:
        _say(console, found.sentence, hang=f"  {found.option}{_GAP}")
    if len(judgement.scaling) > _MOST_CURVES:
        more = fmt.count(len(judgement.scaling) - _MOST_CURVES, "more option")
        _line(console, [(f"  … {more} in the report", "dim")])


def _levels(levels: Iterable[tuple[tuple[str, ...], float]]) -> str:
    best_first = sorted(levels, key=lambda level: -level[1])
    return ", ".join(f"{'+'.join(codes)}{_JOINT}{fmt.change(ratio)}" for codes, ratio in best_first)


def _footnotes(notes: Sequence[Footnote], console: Console) -> None:
    if notes:
        console.print()
    for number, note in enumerate(notes[:_MOST_NOTICES], start=1):
        _say(console, note.sentence, hang=f"  [{number}] ")
    if len(notes) > _MOST_NOTICES:
        more = fmt.count(len(notes) - _MOST_NOTICES, "more notice")
        _line(console, [(f"  … {more} in the report", "dim")])
