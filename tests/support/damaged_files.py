"""Damage to a report, and what an import of the damaged file may say: what the whole file says, or less."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from layouts import LAYOUTS
from readings import readings

from steelyard.errors import InputError
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TEXTS = list(LAYOUTS)
NAMES = [f"{i}-{name}" for i, name in enumerate(LAYOUTS.values())]
# isql and Oracle's reports have columns with places: cells are cut by them, not by blanks
RULED = ("ase/monitor", "oracle/")
FIXED = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# what stands nowhere in a report
GARBAGE, STRANGE = "q7z", "77777"
NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*")
# means over several lines, which a damaged one changes
_MEANS = re.compile(
    r"cpu_busy_|engine_(ticks|busy)_|os_cpu_of|tps_of|latency_mean$|cpu_used_percent|(mean|p99)_ns$"
)
# tables whose counts are added up over lines
_SUMS = {"latches", "latency", "clients", "profile", "locks"}
# in a table, but of a text in blanks, an empty cell says that there is no value
_EMPTY_CELLS = ("ase/sysmon", "ase/monitor", "ase/dbxtune", "oracle/", "drivers/jmeter")
# a total of sp_sysmon has no share of itself
_EMPTY_ENDS = ("oracle/", "ase/sysmon")
_STRANGE = re.compile(f"{GARBAGE}|{STRANGE}|##|>")
_MOVES = ("quoted", "shifted left", "shifted right", "cut", "blank", "empty")
_REST = "functions not listed"
_ADDED = ("samples", "count", "gets", "misses")
# what the first reading says, where the others are damaged
_SINCE_START = re.compile("one capture of|the only (row|reading|report)")
_NAMES = ("role", "lock", "type", "call_site", "stack", "latch", "statement", "client")
_COUNTS = ("seconds", "transactions", "errors", "clients")

Key = tuple[str, ...]


@dataclass(frozen=True)
class Said:
    """Numbers of all reports of a file. at: by time, thing and metric; values: by metric alone."""

    numbers: dict[Key, set[float]]
    counts: dict[str, float]
    notices: frozenset[str]
    not_understood: int


def said_by(place: Path) -> Said:
    """Raises InputError, as an import does."""
    source = Source(place)
    reports = reports_in(source)
    numbers: dict[Key, set[float]] = {}
    counts = dict.fromkeys(_COUNTS, 0.0)
    for report in reports:
        if report.began:
            numbers.setdefault((report.format, "began"), set()).add(report.began.timestamp())
        for key, value in _numbers(report):
            numbers.setdefault(key, set()).add(round(value, 9))
        counts["seconds"] = max(counts["seconds"], report.seconds or 0)
        counts["clients"] = max(counts["clients"], report.clients or 0)
        if report.work:
            counts["transactions"] += report.work.transactions
            counts["errors"] += report.work.errors
    notices = frozenset(text for report in reports for _, text in report.notices)
    return Said(numbers, counts, notices, source.skipped.count)


def _numbers(report: Report) -> Iterator[tuple[Key, float]]:
    for sample in readings(report.samples):
        # one at no time is of means alone
        timed = report.began and sample.at_s == sample.at_s
        at = str(report.began + timedelta(seconds=sample.at_s)) if timed else ""
        yield (report.format, at, sample.entity, sample.metric), sample.value
    for figure in report.figures:
        yield (report.format, "figure", figure.name), figure.value
    for table, rows in report.rows.items():
        for row in rows:
            names = [str(row[name]) for name in _NAMES if name in row]
            for column, value in row.items():
                if column not in _NAMES and isinstance(value, int | float):
                    yield (report.format, table, *names, column), float(value)


@dataclass(frozen=True)
class Damage:
    """One damage of one line. lost: the line, or a part of it, is gone without a trace."""

    name: str
    text: str
    lost: bool = False


def damages(text: str, line: int, word: int, ruled: bool) -> Iterator[Damage]:
    """All damages of one line; word: at which of its numbers. ruled: columns have places."""
    lines = text.splitlines()
    old = lines[line]

    def with_line(new: str) -> str:
        return "\n".join([*lines[:line], new, *lines[line + 1 :]]) + "\n"

    yield Damage("removed", "\n".join([*lines[:line], *lines[line + 1 :]]) + "\n", lost=True)
    yield Damage("quoted", with_line("> " + old))
    if not (numbers := list(NUMBER.finditer(old))):
        return
    found = numbers[word % len(numbers)]
    before, after = old[: found.start()], old[found.end() :]
    yield Damage("hashes", with_line(f"{before}#####{after}"))
    yield Damage("garbage", with_line(f"{before}{GARBAGE}{after}"))
    yield Damage("blank", with_line(f"{before}{' ' * len(found[0])}{after}"))
    yield Damage("empty", with_line(f"{before}{after}"))
    yield Damage("cut", with_line(before), lost=not before.strip(" >"))
    if old[found.start() - 1 : found.start()].strip() or after[:1].strip(" ,"):
        return
    if not ruled:
        yield Damage("shifted left", with_line(before + after.lstrip()))
    yield Damage("shifted right", with_line(f"{before}     {found[0]}{after}"))
    yield Damage("another column", with_line(f"{before}{STRANGE} {found[0]}{after}"))


def whole_file_damages(text: str) -> Iterator[Damage]:
    """Decimal commas, and line ends."""
    yield Damage("decimal commas", re.sub(r"(?<![\w.])(\d+)\.(\d+)(?![\w.])", r"\1,\2", text))
    yield Damage("windows", text.replace("\n", "\r\n"))


def wrong(whole: Said, damage: Damage, part: Said) -> list[str]:
    """What an import of a damaged file must not say."""
    found: list[str] = []
    by_metric = _without(whole, 1)
    reported = part.not_understood > whole.not_understood or bool(part.notices - whole.notices)
    strange = {key for key in part.numbers.keys() - whole.numbers.keys() if _STRANGE.search(" ".join(key))}
    since_start = any(_SINCE_START.match(text) for text in part.notices)
    # what a line is of, and when, may be lost with another line
    moved = reported or damage.lost or bool(strange) or damage.name in _MOVES
    for key, values in part.numbers.items():
        allowed = set(whole.numbers.get(key, ()))
        # clients have no names
        if moved or key[1] == "clients":
            allowed |= by_metric.get(key[-1:], set())
            if _STRANGE.search(key[-1]) or damage.name in ("blank", "empty"):
                # the name of the metric itself
                allowed |= set().union(*whole.numbers.values())
            allowed |= {value for value in values if _formed(key, value, allowed)}
        if not values <= allowed and not since_start:
            found.append(f"{key}: {sorted(values - allowed)} in place of {sorted(allowed)[:5]}")
    for name, count in part.counts.items():
        # a client is known by its name alone, which may be what is damaged
        if count > whole.counts[name] * (1 + 1e-9) + (name == "clients"):
            found.append(f"{name}: {count} in place of {whole.counts[name]}")
    kept = _without(part, 1)
    lost = {key: values - kept.get(key, set()) for key, values in by_metric.items()}
    of_clients = {key[-1:] for key in whole.numbers if key[1] == "clients"}
    lost = {key: values for key, values in lost.items() if values and key not in of_clients}
    lost = {key: values for key, values in lost.items() if not _MEANS.match(key[-1])}
    # the name of a metric may be what is damaged
    renamed = set[float]().union(*(kept[name] for name in kept.keys() - by_metric.keys()))
    lost = {key: values for key, values in lost.items() if not values <= renamed}
    if strange or damage.name in ("blank", "empty"):
        lost = {key: values for key, values in lost.items() if key[-1] not in _ADDED}
    if lost and not reported and not damage.lost and not _says_nothing(whole, damage):
        found.append(f"lost without a word: {dict(list(lost.items())[:3])}")
    return found


def _formed(key: Key, value: float, allowed: set[float]) -> bool:
    """Whether a value may have been formed from the lines that are left."""
    if key[-1] == "began":
        return value >= min(allowed, default=0) - 1
    if any(_REST in name for name in key) or _MEANS.match(key[-1]):
        return value > 0
    # what is not listed was idle
    if key[0] == "system/pidstat" and value == 0:
        return True
    return key[1] in _SUMS and 0 < value <= max(allowed, default=0)


def _says_nothing(whole: Said, damage: Damage) -> bool:
    """Whether the damaged line has an empty cell where the format has one for no value."""
    formats = {key[0] for key in whole.numbers}
    blank = (
        _EMPTY_CELLS
        if damage.name in ("blank", "empty", "shifted left")
        else _EMPTY_ENDS
        if damage.name == "cut"
        else ()
    )
    return any(name.startswith(blank) for name in formats)


def _without(said: Said, names: int) -> dict[Key, set[float]]:
    """Values by the last names of their keys."""
    found: dict[Key, set[float]] = {}
    for key, values in said.numbers.items():
        found.setdefault(key[-names:], set()).update(values)
    return found


def found_wrong(place: Path, text: str, damage: Damage) -> list[str]:
    place.write_text(text)
    whole = said_by(place)
    # Windows line ends must reach the reader
    place.write_bytes(damage.text.encode())
    try:
        return wrong(whole, damage, said_by(place))
    except InputError as refused:
        assert place.name in str(refused)
        return []


@st.composite
def of_one_line(draw: st.DrawFn, text: str) -> Damage:
    """A damage to one line, drawn."""
    lines = text.splitlines()
    line = draw(st.integers(0, len(lines) - 1), label="line")
    word = draw(st.integers(0, max(0, len(NUMBER.findall(lines[line])) - 1)), label="word")
    several = list(damages(text, line, word, LAYOUTS[text].startswith(RULED)))
    return draw(st.sampled_from(several), label="damage")
