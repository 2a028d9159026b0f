"""sp_sysmon of ASE, threaded and process mode.

Rates are count over Sample Interval: the column 'per sec' is rounded. 'Engine Utilization (Tick %)' of the
threaded mode and 'Engine Busy Utilization' of the process mode count different things: their figures
have different names, so that they are never compared.
"""

import re
from collections.abc import Sequence

from steelyard.recordings.cells import exact, number, slug
from steelyard.recordings.clocks import moment_in
from steelyard.recordings.lines import Found, Lines, Now, figure, known, rule
from steelyard.recordings.report import Better, Report, Work
from steelyard.recordings.tables import is_ruler

TITLE = "ASE sp_sysmon, threaded and process mode; several reports in one file"

_BEGINS = "Adaptive Server Enterprise System Performance Report"
_HEADERS = (
    "Server Version|Server Name|Run Date|Sampling Started at|Sampling Ended at|Sample Interval"
    "|Sample Mode|Counters Last Cleared|Statistics Cleared at|Statistics Sampled at"
)
_CELL = r"(?:-?[\d.,]+ ?%|-?[\d.,]+|(?i:n/?a)|#+)"
_CELLS = re.compile(_CELL)
# the statement cache by itself; the title of the section gives the interval: --- sp_sysmon "00:00:45" ---
_PART = re.compile(r"\s*SQL Statement Cache:\n\s+Statements Cached\s+[\d.]+\s+[\d.]+\s+\d+\s")
_CALL = re.compile(r'sp_sysmon "(\d\d:\d\d:\d\d)"')
_TIMES = ("%b %d, %Y %H:%M:%S", "%b %d, %Y %H%M%S")
_CLOCK = re.compile(r"(\d\d):?(\d\d):?(\d\d)")
_ENGINES_MAX = 32
_COLUMNS = ["per_sec", "per_xact", "count", "of_total"]

# means are rounded to a tenth of a per cent
_SLACK = 0.005
# rows that are worth comparing: their path ends so; the figure, and which of two is better
_RATES: dict[str, tuple[str, Better]] = {
    "procedure_requests": ("procedure_requests_per_s", "neither"),
    "statements_cached": ("statements_cached_per_s", "neither"),
    "statements_found_in_cache": ("statements_found_in_cache_per_s", "neither"),
    "statements_dropped": ("statements_dropped_per_s", "lower"),
    "procedure_recompilations": ("recompilations_per_s", "lower"),
    "total_cpu_yields": ("cpu_yields_per_s", "neither"),
}
# tables of percentages: heading, prefix of the figures, their names
_ENGINES = {
    "engine utilization": ("engine_ticks", ("user", "system", "io", "idle")),
    "engine busy utilization": ("engine_busy", ("cpu", "io", "idle")),
    "thread utilization": ("os_threads", ("user", "system", "idle")),
}


def sniff(head: str) -> bool:
    """Whether a report begins, or a part that was cut out of one."""
    return _BEGINS in head or bool(_PART.match(head))


def _seconds(text: str) -> float:
    if (found := _CLOCK.fullmatch(text)) is None:
        raise ValueError(text)
    hours, minutes, seconds = map(int, found.groups())
    return 3600.0 * hours + 60.0 * minutes + seconds


def _header(now: Now, found: Found) -> None:
    name, value, report = found[1], found[2], now.report
    if name == "Server Name":
        report.server = value
    elif name == "Sample Interval":
        report.seconds = _seconds(value)
    elif name in ("Sampling Started at", "Statistics Cleared at"):
        # 12.5 gives the day by itself
        day = report.facts.get("Run Date", "") if name.startswith("Stat") else ""
        if (began := moment_in(f"{day} {value}", *_TIMES)) is None:
            raise ValueError(value)
        report.began = began
    report.facts[name] = value


def _table(now: Now, found: Found) -> bool | None:
    """The line above a ruler: title of a section, or names of the columns."""
    parts = re.split(r"\s{2,}", found[0].strip(" >\t"))
    if not (is_ruler(now.below) or found[1]) or any(_CELLS.fullmatch(part) for part in parts):
        # a damaged row above the ruler that ends its table
        return False
    now.words |= {"table": parts[0].lower(), "columns": " ".join(map(slug, parts[1:])), "pool": ""}
    now.path.clear()
    return None


def _pool(now: Now, found: Found) -> None:
    now.words["pool"], now.numbers["pool"] = found[2].strip(), len(found[1])


def _at(now: Now, indent: int, in_pool: bool = False) -> None:
    """Leaves the titles and the pool below which a line does not stand."""
    if indent <= now.numbers.get("pool", -1) and not in_pool:
        now.words["pool"] = ""
    now.path = {level: name for level, name in now.path.items() if level < indent}


def _columns(now: Now, cells: Sequence[str]) -> list[str] | None:
    """The columns of a row; None where it has too few cells or too many, or a share in place of a count."""
    columns = now.words["columns"].split() or _COLUMNS
    if len(cells) == len(columns) - 1 and columns[-1] == "of_total" and re.match(r"[\d-]", cells[-1]):
        # a total has no share of itself
        columns = columns[:-1]
    numbers = [(c, cell) for c, cell in zip(columns, cells, strict=False) if re.match(r"[\d-]", cell)]
    counted = "of_total" in columns or columns[:3] == _COLUMNS[:3]
    # shares have their sign, and nothing else has one
    if counted and any(cell.endswith("%") != (column == "of_total") for column, cell in numbers):
        return None
    return columns if len(cells) == len(columns) else None


def _row(now: Now, found: Found) -> bool | None:
    cells, label = _CELLS.findall(found[3]), re.sub(r"\s{2,}", " ", found[2] or "")
    table, indent = now.words["table"], len(found[1])
    values = [number(cell.rstrip("% ")) for cell in cells]
    _at(now, indent, in_pool=not label or label.startswith("Pool Summary"))
    if label.startswith("Total"):
        # a pool's total is its summary
        now.words["pool"] = ""
    pool = now.words["pool"]
    for title, (prefix, names) in _ENGINES.items():
        if table.startswith(title):
            # 12.5 has one column, whose last row gives the mean
            names = names if now.words["columns"] else ("",)
            shares = [exact(cell.rstrip("% ")) for cell in cells if cell.endswith("%")]
            if len(shares) < len(cells):
                return False
            return _engine(now, prefix, label, dict(zip(names, shares, strict=True)))
    entity = " / ".join(filter(None, (table, pool, *now.path.values(), label.strip())))
    if (columns := _columns(now, cells)) is None:
        return False
    by_column = dict(zip(columns, values, strict=True))
    # of what is 'n/a' per second the count is a state or a maximum, not a number of events
    seconds = None if by_column.get("per_sec") is None else now.report.seconds or _of_title(now)
    for column, cell in zip(columns, cells, strict=True):
        if (value := by_column[column]) is None or column in ("per_sec", "per_xact"):
            continue
        if column == "count" and "." not in cell:
            _count(now.report, entity, slug(label), value, seconds)
            continue
        # a count with decimals is an average
        metric = {"of_total": "of_total_percent", "count": "average"}.get(column, slug(column))
        now.report.sample(0, entity, metric, value)
        if column == "of_total" and slug(label).endswith("spinlock_contention"):
            now.report.figure(f"{slug(label)}_percent", value, "%", "lower")
    return None


def _of_title(now: Now) -> float | None:
    """The interval of a part of a report, from the call in the title."""
    if call := _CALL.match(now.words["title"]):
        now.report.seconds = _seconds(call[1])
        now.report.facts["Sample Interval"] = call[1]
    return now.report.seconds


def _count(report: Report, entity: str, name: str, value: float, seconds: float | None) -> None:
    report.sample(0, entity, "count", value)
    if not seconds:
        return
    report.sample(0, entity, "rate_per_s", value / seconds)
    if name in _RATES:
        figure, better = _RATES[name]
        report.figure(figure, value / seconds, "1/s", better)
    if name == "committed_xacts":
        report.work = Work(int(value), driver=False)


def _engine(now: Now, prefix: str, label: str, shares: dict[str, float]) -> None:
    of = now.words["pool"] or "server"
    total = re.match(r"Summary Total ([\d.]+) % Average", label)
    for name, value in shares.items():
        metric = "_".join(filter(None, (prefix, name, "percent")))
        if total and not name:
            now.numbers |= {f"{metric} total": float(total[1]), f"{metric} mean": value}
        else:
            now.report.sample(0, f"{of} {label.strip() or 'Average'}", metric, value)


def _title(now: Now, found: Found) -> bool | None:
    """A line without numbers whose rows follow."""
    indent, body = len(found[1]), found[2]
    deeper = len(now.below) - len(now.below.lstrip()) > indent or now.below.lstrip().startswith(
        "ThreadPool :"
    )
    if not deeper and not body.endswith((":", "during sample")):
        return False
    if body.lower() in _ENGINES:
        now.words |= {"table": body.lower(), "columns": "", "pool": ""}
        now.path.clear()
        return None
    _at(now, indent)
    now.path[indent] = body.rstrip(":")
    return None


def _advice(now: Now, found: Found) -> None:
    now.report.facts[f"advice {len(now.report.facts)}"] = found[0].strip(" -")


def _close(now: Now) -> None:
    """Figures of the engines: means over all of them, and what the threads used by the system's account."""
    report, n = now.report, now.numbers
    shares: dict[str, list[float]] = {}
    busy: dict[str, list[float]] = {}
    for sample in report.samples:
        metric = sample.metric
        if not re.fullmatch(r"[^/]* (Engine|Thread) [^/]*", sample.entity):
            continue
        shares.setdefault(metric, []).append(sample.value)
        if metric.startswith("engine") and metric.endswith(("idle_percent", "engine_busy_percent")):
            value = 100 - sample.value if metric.endswith("idle_percent") else sample.value
            prefix = "_".join(metric.split("_")[:2])
            pool = sample.entity.partition(" ")[0]
            for name in (pool, sample.entity) if pool != "server" else (sample.entity,):
                busy.setdefault(slug(f"{prefix} {name} percent"), []).append(value)
    for metric, values in shares.items():
        if metric.startswith("os_threads"):
            continue
        mean, engines = sum(values) / len(values), len(values)
        report.figure(metric, mean, "%")
        report.facts["kernel mode"] = "process" if metric.startswith("engine_busy") else "threaded"
        if (total := n.get(f"{metric} total")) is not None:
            stated = n[f"{metric} mean"]
            said = f"a mean of {stated:g} % and a total of {total:g} % for {engines} engines of {mean:g} %"
            report.foot(said, stated + total, mean * (1 + engines), _SLACK)
    threads = [sum(values) for metric, values in shares.items() if re.match("os_threads_(user|sys)", metric)]
    report.figure("os_cpu_of_threads_percent", sum(threads) if threads else None, "%", "lower")
    for name, values in list(busy.items())[:_ENGINES_MAX]:
        report.figure(name, sum(values) / len(values), "%")
    if report.seconds is None:
        report.notice("interval-unknown", "the report gives no Sample Interval: no rates")


read = Lines(
    (
        rule(f".*{_BEGINS}.*", lambda now, found: None, once="report"),
        rule(rf"({_HEADERS}):?\s+(\S.*?)\s*", _header),
        rule(rf"( *)(?!>)(\S.*?)??\s{{2,}}({_CELL}(?:\s+{_CELL})*)\s*", _row),
        rule(r"( *)ThreadPool : ?([^:]*).*", _pool),
        rule(r"\s*\S.*?(per sec\s+per xact\s+count.*)?", _table),
        figure(r".*consuming +(N) CPU units.*", "cpu_units", "", "neither", "time"),
        figure(r".*per CPU unit\) : +(N)\s*", "xacts_per_cpu_unit", "", "neither", "time"),
        rule(r"\s*- .*", _advice),
        known(
            r"\s*(?:Your |and I/?O Polling|configuration parameter|the machine to be|Tuning Recommendations"
            r"|\[\.\.\.\]|=+ ?End of Report)|\s+[A-Z]?/?[\w/. ]*(?:P/|Sat |64-bit|32-bit)"
        ),
        rule(rf"( *)(?!{_HEADERS})([A-Z][\w /().%:'-]*?)\s*", _title),
    ),
    _close,
)
