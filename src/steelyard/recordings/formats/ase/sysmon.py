"""ASE sp_sysmon, threaded and process mode; several reports in one file.

Rates are count over Sample Interval: the column 'per sec' is rounded. 'Engine Utilization (Tick %)' of the
threaded mode and 'Engine Busy Utilization' of the process mode count different things: their figures
have different names, so that they are never compared.
"""

import re
from datetime import timedelta
from statistics import fmean

from steelyard.recordings.cells import moment_in, number, slug
from steelyard.recordings.lines import Found, Lines, NotMine, Now, figure, has, known, numbers, rule
from steelyard.recordings.report import Better, Work
from steelyard.recordings.tables import is_ruler

_BEGINS = "Adaptive Server Enterprise System Performance Report"
_HEADERS = (
    "Server Version|Server Name|Run Date|Sampling Started at|Sampling Ended at"
    "|Sample Mode|Counters Last Cleared|Statistics Cleared at|Statistics Sampled at"
)
_CELL = r"(?:-?[\d.,]+ ?%|-?[\d.,]+|(?i:n/?a)|#+)"
# the statement cache by itself; the title of the section gives the interval: --- sp_sysmon "00:00:45" ---
_PART = r"\s*SQL Statement Cache:\n\s+Statements Cached\s+[\d.]+\s+[\d.]+\s+\d+\s"
_CALL = r'sp_sysmon "(\d\d:\d\d:\d\d)"'
_TIMES = ("%b %d, %Y %H:%M:%S", "%b %d, %Y %H%M%S")
_ENGINES_MAX = 32
_COLUMNS = ["per_sec", "per_xact", "count", "of_total"]
# means are rounded to a tenth of a per cent
_SLACK = 0.005
# rows that are worth comparing, by the end of their path
_RATES: dict[str, Better] = {
    "procedure_requests": "neither",
    "statements_cached": "neither",
    "statements_found_in_cache": "neither",
    "statements_dropped": "lower",
    "procedure_recompilations": "lower",
    "total_cpu_yields": "neither",
}
# tables of percentages by their heading: prefix of the figures
_SHARES = {
    "engine utilization": "engine_ticks",
    "engine busy utilization": "engine_busy",
    "thread utilization": "os_threads",
}

# a report begins, or a part that was cut out of one
sniff = has(rf"{_BEGINS}|\A{_PART}")


def _interval(now: Now, found: Found) -> None:
    hours, minutes, seconds = map(int, re.findall(r"\d\d", found[1]))
    now.report.seconds = 3600.0 * hours + 60.0 * minutes + seconds
    now.report.facts["Sample Interval"] = found[1]


def _header(now: Now, found: Found) -> None:
    name, value, report = found[1], found[2], now.report
    if name == "Server Name":
        report.server = value
    elif name in ("Sampling Started at", "Statistics Cleared at"):
        # 12.5 gives the day by itself
        day = report.facts.get("Run Date", "") if name.startswith("Stat") else ""
        report.began = moment_in(f"{day} {value}", *_TIMES)
    elif name == "Statistics Sampled at" and report.began:
        # the day is that of the end
        ended = moment_in(f"{report.facts.get('Run Date', '')} {value}", *_TIMES)
        report.began -= timedelta(days=report.began > ended)
    report.facts[name] = value


def _table(now: Now, found: Found) -> None:
    """The line above a ruler: title of a section, or names of the columns."""
    parts = re.split(r"\s{2,}", found[0].strip(" >\t"))
    if not (is_ruler(now.below) or found[1]) or any(re.fullmatch(_CELL, part) for part in parts):
        # a damaged row above the ruler that ends its table
        raise NotMine
    now.words |= {"table": parts[0].lower(), "columns": " ".join(map(slug, parts[1:])), "pool": ""}
    now.path.clear()


def _part(now: Now, found: Found) -> None:
    now.words["part"] = found[1] or ""


def _pool(now: Now, found: Found) -> None:
    now.words["pool"], now.numbers["pool"] = found[2].strip(), len(found[1])


def _at(now: Now, indent: int, in_pool: bool = False) -> None:
    """Leaves the titles and the pool below which a line does not stand."""
    if indent <= now.numbers.get("pool", -1) and not in_pool:
        now.words["pool"] = ""
    now.path = {level: name for level, name in now.path.items() if level < indent}


def _row(now: Now, found: Found) -> None:
    cells, label = re.findall(_CELL, found[3]), re.sub(r"\s{2,}", " ", found[2] or "")
    words, report, name = now.words, now.report, slug(label)
    _at(now, len(found[1]), in_pool=not label or label.startswith("Pool Summary"))
    if label.startswith("Total"):
        # a pool's total is its summary
        words["pool"] = ""
    prefix = next((prefix for title, prefix in _SHARES.items() if words["table"].startswith(title)), "")
    # 12.5 heads no columns of percentages
    columns = words["columns"].split() or ([""] if prefix else _COLUMNS)
    if len(cells) == len(columns) - 1 and columns[-1] == "of_total" and re.match(r"[\d-]", cells[-1]):
        # a total has no share of itself
        columns = columns[:-1]
    row = dict(zip(columns, cells, strict=True))
    # a pool has buckets of several sizes
    label = f"{label} {row.pop('bucketsize', '')}".strip()
    values = {column: number(cell.rstrip("% ")) for column, cell in row.items()}
    # shares have their sign, and nothing else has one
    if prefix or {"count", "of_total"} & row.keys():
        for column, cell in row.items():
            if values[column] is not None and cell.endswith("%") != (bool(prefix) or column == "of_total"):
                raise NotMine
    if name.endswith("spinlock_contention"):
        # of several hash tables or caches the largest
        now.numbers[name] = max(now.numbers[name], values.get("of_total") or 0.0)
    entity = " / ".join(
        filter(None, (words["part"], words["table"], words["pool"], *now.path.values(), label))
    )
    if entity in now.seen:
        # a second row of this name: what tells them apart was not understood
        raise ValueError
    now.seen.add(entity)
    if prefix:
        # an engine without a tick in the interval has no shares
        for column, value in values.items() if any(values.values()) else ():
            metric = slug(f"{prefix} {column.replace('i_o', 'io').removesuffix('_busy')} percent")
            report.sample(0, f"{words['pool'] or 'server'} {label or 'Average'}", metric, value)
        return
    if (count := values.get("count")) and count < 0:
        # a counter that overflowed
        raise ValueError
    # deeper rows are parts of this one
    now.path[len(found[1])] = label
    # a count with decimals is an average
    metrics = {"of_total": "of_total_percent", "count": "average" if "." in row.get("count", "") else "count"}
    for column, value in values.items():
        if column not in ("per_sec", "per_xact"):
            report.sample(0, entity, metrics.get(column, column), value)
    # of what is 'n/a' per second the count is a state or a maximum, not a number of events
    if count is None or metrics["count"] != "count" or values.get("per_sec") is None or not report.seconds:
        return
    rate = count / report.seconds
    report.sample(0, entity, "rate_per_s", rate)
    if name in _RATES:
        short = name.removeprefix("total_").replace("procedure_recomp", "recomp")
        report.figure(f"{short}_per_s", rate, "1/s", _RATES[name])
    if name == "committed_xacts":
        report.work = Work(int(count), driver=False)


def _title(now: Now, found: Found) -> None:
    """A line without numbers whose rows follow."""
    indent, body, below = len(found[1]), found[2], now.below.lstrip()
    if call := re.match(_CALL, now.source.title):
        _interval(now, call)
    deeper = len(now.below) - len(below) > indent or below.startswith("ThreadPool :")
    if not deeper and not body.endswith((":", "during sample")):
        raise NotMine
    _at(now, indent)
    now.path[indent] = body.rstrip(":")


def _other(now: Now, found: Found) -> None:
    """A line that is not understood: rows below it are of nothing that stands above."""
    _at(now, indent := len(found[1]))
    now.path[indent] = found[2]
    raise ValueError


def _advice(now: Now, found: Found) -> None:
    now.report.facts[f"advice {len(now.report.facts)}"] = found[0].strip(" -")


def _close(now: Now) -> None:
    """Figures of the engines: means over all of them, and what the threads used by the system's account."""
    report, n = now.report, now.numbers
    shares: dict[str, list[float]] = {}
    busy: dict[str, list[float]] = {}
    means = report.samples.means()
    for (entity, metric), value in means.items():
        if not (thread := re.fullmatch(r"([^/]*) (?:Engine|Thread) [^/]*", entity)):
            continue
        shares.setdefault(metric, []).append(value)
        if kind := re.fullmatch(r"(engine_ticks|engine_busy)(_idle)?_percent", metric):
            for name in (thread[1], entity)[thread[1] == "server" :]:
                of = busy.setdefault(slug(f"{kind[1]} {name} percent"), [])
                # waiting for its I/O an engine is idle
                waits = means.get((entity, f"{kind[1]}_io_percent"), 0.0)
                of.append(100 - value - waits if kind[2] else value)
    threads = [sum(values) for metric, values in shares.items() if re.match("os_threads_(user|sys)", metric)]
    for name in filter(lambda name: name.endswith("spinlock_contention"), n):
        report.figure(f"{name}_percent", n[name], "%", "lower")
    report.figure("os_cpu_of_threads_percent", sum(threads) if threads else None, "%", "lower")
    engines = {metric: values for metric, values in shares.items() if metric.startswith("engine")}
    for metric, values in [*engines.items(), *list(busy.items())[:_ENGINES_MAX]]:
        report.figure(metric, fmean(values), "%")
        report.facts["kernel mode"] = "process" if metric.startswith("engine_busy") else "threaded"
    if n["total"] and (values := engines.get("engine_busy_percent")):
        mean, stated = fmean(values), n["mean"]
        said = f"a mean of {stated:g} % and a total of {n['total']:g} for {len(values)} engines of {mean:g} %"
        report.foot(said, stated + n["total"], mean * (1 + len(values)), _SLACK)
    if report.seconds is None:
        report.notice("interval-unknown", "the report gives no Sample Interval: no rates")


read = Lines(
    (
        known(f".*{_BEGINS}", "report"),
        rule(r"Sample Interval:?\s+(\d\d:?\d\d:?\d\d)\s*", _interval),
        rule(rf"({_HEADERS}):?\s+(\S.*?)\s*", _header),
        # of 12.5, in one line
        numbers(r"\s*Summary +Total +(?P<total>N) % +Average +(?P<mean>N) %\s*"),
        rule(rf"( *)(?!>)(\S.*?)??\s{{2,}}({_CELL}(?:\s+{_CELL})*)\s*", _row),
        # tables of an application, until the next section
        rule(r" *(Application->Login: \S.*?)\s*|=+", _part),
        rule(r"( *)ThreadPool : ?([^:]*).*", _pool),
        rule(r"(.*per sec\s+per xact\s+count.*|\s*Engine Busy Utilization\s*)|\s*\S.*", _table),
        figure(r".*consuming +(N) CPU units.*", "cpu_units", "", "neither", "time"),
        figure(r".*per CPU unit\) : +(N)\s*", "xacts_per_cpu_unit", "", "neither", "time"),
        rule(r"\s*- .*", _advice),
        known(
            r"\s*(?:Your |and I/?O Polling|configuration parameter|the machine to be|Tuning Recommendations"
            r"|\[\.\.\.\]|=+ ?End of Report)|\s+[A-Z]?/?[\w/. ]*(?:P/|Sat |64-bit|32-bit)"
        ),
        rule(rf"( *)(?!{_HEADERS}|.*\s{{2,}}{_CELL}(?:\s{{2,}}|\s*$))([A-Z][\w /().%:'&>-]*?)\s*", _title),
        rule(r"( *)([^-=\d\s].*?)\s*", _other),
    ),
    _close,
)
