"""The verdict in the terminal: the answer, the reasons, the table, what to type next."""

import re
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Judgement, Metric, Standing
from steelyard.printable import printable
from steelyard.report.about import About
from steelyard.report.presented import Presented
from steelyard.report.presented.ranking import ON_THE_PAGE_ONLY
from steelyard.report.presented.words import heading
from steelyard.report.table import Table
from steelyard.report.tables.options import matrix, pairs, short_table
from steelyard.report.tables.statements import (
    buffers,
    latches,
    of_files,
    of_programs,
    of_source,
    queries,
    sleeps,
    statements,
)

_NOTICES_MAX = 12
_CURVES_MAX = 4
_GAP = "  "
_JOINT = "\ue000"  # keeps a number and its per cent sign on one line
_STYLES: dict[Standing, str] = {
    "better": "green",
    "worse": "red",
    "inconclusive": "dim",
    "not tested": "dim",
    "leaning better": "yellow",
    "leaning worse": "yellow",
}


def print_verdict(presented: Presented, console: Console) -> None:
    """Prints what an expert would say on `console` (standard output), for 80 columns; print_next follows."""
    verdict = presented.judgement.verdict
    _say(console, presented.judgement.question, "dim")
    for number, line in enumerate(verdict.lines):
        _say(console, line, "" if number else "bold")
    for reason in verdict.reasons:
        _say(console, reason, hang="  - ")
    _options(presented, console)
    for topic in (
        of_source,
        matrix,
        pairs,
        of_programs,
        of_files,
        statements,
        buffers,
        latches,
        sleeps,
        queries,
    ):
        _aligned(topic(presented), console)
    _factors(presented, console)
    _scaling(presented.judgement, presented.about, console)
    _footnotes(presented, console)
    console.print()
    _pointer("lab", _lab(presented), console)


def print_next(presented: Presented, console: Console) -> None:
    """Where the results are, and what to type next."""
    about = presented.about
    _pointer("bundle", about.bundle, console)
    _pointer("report", about.report, console)
    _pointer("probes", _probes(presented.judgement, about), console)
    _pointer("next", about.next_command, console, "bold")


def _probes(judgement: Judgement, about: About) -> str:
    """What the kernel's probes recorded is too much for a terminal: where to find it."""
    probed = {
        "where CPU time goes": judgement.profile,
        "kernel locks": judgement.locks,
        "scheduling": judgement.scheduling,
    }
    found = [name for name, rows in probed.items() if len(rows)]
    return f"{', '.join(found)}: in the report" if found and about.report else ""


def _pointer(name: str, text: str, console: Console, style: str = "") -> None:
    if text:
        _line(console, (f"{name:<6}{_GAP}", "dim"), (text, style))


def _lab(presented: Presented) -> str:
    """What measuring cost: the load engine's CPU, and that of the monitors."""
    engine = [
        estimate.value
        for estimate in presented.judgement.estimates
        if estimate.metric == "engine_cpu_us_per_txn" and estimate.clients is None
    ]
    parts: list[str] = []
    if engine:
        low, high = fmt.together([min(engine), max(engine)])
        mean = presented.over(" over ")
        parts.append(f"engine {low if low == high else f'{low} to {high}'} µs CPU per transaction{mean}")
    known = [monitor.cpu_percent for monitor in presented.about.monitors if monitor.cpu_percent is not None]
    if known:
        parts.append(f"monitors {fmt.significant(sum(known))} % of a CPU under load")
    return "; ".join(parts)


def _say(console: Console, text: str, style: str = "", hang: str = "") -> None:
    indent = " " * len(hang)
    kept = _printable(text).replace(" %", _JOINT + "%")
    for number, line in enumerate(Text(kept).wrap(console, max(20, console.width - len(hang)))):
        words = line.plain.rstrip().replace(_JOINT, " ")
        _line(console, (indent if number else hang, "dim"), (words, style))


def _line(console: Console, *parts: tuple[str, str]) -> None:
    """One line, never cut: a narrow window folds it, a pipe keeps it whole."""
    text = Text.assemble(*((_printable(part), style) for part, style in parts))
    text.rstrip()
    console.print(text, soft_wrap=True)


def _printable(text: str) -> str:
    """On one line, and without what steers a terminal: a server's error is shown here too."""
    return printable(re.sub(r"[\n\t]", " ", text))


def _options(presented: Presented, console: Console) -> None:
    table, ranking = short_table(presented), presented.ranking
    shown = [place for place, row in enumerate(ranking) if row.is_foremost]
    _, *heads = table.head
    if not heads:
        return
    console.print()
    cells = [table.rows[place][1:] for place in shown]
    labels = [
        ranking[place].label + "".join(f"[{number}]" for number in ranking[place].footnotes)
        for place in shown
    ]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    room = console.width - 2 - sum(widths) - max(map(len, labels))
    # the labels stand above their figures where not even narrow gaps make room for them
    gap = _GAP if len(_GAP) * len(widths) <= room else " "
    beside = len(gap) * len(widths) <= room
    gap = gap if beside else _GAP
    lead = max(map(len, [*labels, "option"])) if beside else 4
    _line(console, (_head(f"{'':{lead + 2}}{_joined(heads, widths, gap)}"), "dim"))
    before = -1
    for place, label, texts in zip(shown, labels, cells, strict=True):
        if left_out := place - before - 1:
            _line(console, (f"  … {fmt.count(left_out, 'option')} between", "dim"))
        before, row = place, ranking[place]
        mark = (f"{row.mark} ", _STYLES.get(row.comparison.standing, "") if row.comparison else "")
        name = (f"{label:<{lead}}" if beside else label, "bold" if row.is_winner else "")
        figures = (_joined(texts, widths, gap), "")
        if beside:
            _line(console, mark, name, figures)
        else:
            _line(console, mark, name)
            _line(console, (" " * (lead + 2), ""), figures)
    blocks = presented.blocks
    ends = "–".join(map(str, sorted({blocks[0], blocks[-1]}))) if blocks else ""
    many = f"n = {ends} block{'s' * (ends != '1')}; " if ends else ""
    legend = f"; {presented.legend}" if presented.legend else ""
    _say(console, f"{many}{presented.summary}{legend}", "dim", hang="  ")
    if presented.resolution:
        _say(console, presented.resolution, "dim", hang="  ")
    if (compared := presented.judgement.equal_work) and not presented.judgement.work:
        text = f"equal work: no difference in the rows of {fmt.count(len(compared), 'statement')} is shown"
        _say(console, text, "dim", hang="  ")


def _head(line: str) -> str:
    """The heads of the columns, with that of the labels where there is room before them."""
    first = "  option"
    return line if line[: len(first) + 1].strip() else first + line[len(first) :]


def _joined(texts: Sequence[str], widths: Sequence[int], gap: str = _GAP) -> str:
    return "".join(f"{gap}{text:>{width}}" for text, width in zip(texts, widths, strict=True))


def _aligned(table: Table | None, console: Console) -> None:
    if table is None:
        return
    widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]
    console.print()
    if console.is_terminal and sum(widths) + len(_GAP) * (len(widths) - 1) > console.width:
        _stacked(table, console)
        return
    for number, (name, *cells) in enumerate((table.head, *table.rows)):
        _line(console, (f"{name:<{widths[0]}}{_joined(cells, widths[1:])}", "" if number else "dim"))


def _stacked(table: Table, console: Console) -> None:
    """A table too wide for the window: each row's cells below its name."""
    name, *heads = table.head
    _line(console, (name, "dim"))
    for row, *cells in table.rows:
        _line(console, (row, ""))
        named = [f"{head} {cell}" for head, cell in zip(heads, cells, strict=True) if cell]
        _say(console, "; ".join(named), hang="      ")


def _factors(presented: Presented, console: Console) -> None:
    metric = presented.headlines.foremost
    effects = presented.effects(metric) if metric else []
    if metric is None or len({name for effect in effects for name in effect.factors}) < 2:
        return
    console.print()
    share = f"  What matters: share of the variation in {heading(metric).lower()}, 95 % interval;"
    _line(console, (share, "dim"))
    _line(console, ("  each level against the geometric mean of all options", "dim"))
    drawn = [effect for effect in effects if effect.share >= 0.005][:8]
    names = [" × ".join(effect.factors) for effect in drawn]
    width = max(map(len, names), default=0)
    for name, effect in zip(names, drawn, strict=True):
        levels = _levels(metric, effect.levels.items()) if len(effect.factors) == 1 else ""
        share = f"{fmt.percent(effect.share):>7}{_GAP}{fmt.share_interval(effect.low, effect.high):<13}"
        _say(console, levels, hang=f"  {name:<{width}}{_GAP}{share}{_GAP}")


def _scaling(judgement: Judgement, about: About, console: Console) -> None:
    if not judgement.scaling:
        return
    console.print()
    _line(console, (f"  With more {about.points_are}", "dim"))
    for found in judgement.scaling[:_CURVES_MAX]:
        _say(console, found.sentence, hang=f"  {found.option}{_GAP}")
    if len(judgement.scaling) > _CURVES_MAX:
        more = fmt.count(len(judgement.scaling) - _CURVES_MAX, "more option")
        _line(console, (f"  … {more} in the report", "dim"))


def _levels(metric: Metric, levels: Iterable[tuple[tuple[str, ...], float]]) -> str:
    sign = 1 if metric.better == "lower" else -1
    best_first = sorted(levels, key=lambda level: sign * level[1])
    return ", ".join(f"{'+'.join(codes)}{_JOINT}{fmt.change(ratio)}" for codes, ratio in best_first)


def _footnotes(presented: Presented, console: Console) -> None:
    """Those of options that the table shows have the numbers that stand there."""
    notes = [note for note in presented.footnotes if note.code not in ON_THE_PAGE_ONLY]
    marked = {number for row in presented.ranking if row.is_foremost for number in row.footnotes}
    if notes:
        console.print()
    for note in notes[:_NOTICES_MAX]:
        mark = f"[{note.number}]" if note.number in marked else "-"
        _say(console, note.sentence, hang=f"  {mark} ")
    if len(notes) > _NOTICES_MAX:
        more = fmt.count(len(notes) - _NOTICES_MAX, "more notice")
        _line(console, (f"  … {more} in the report", "dim"))
