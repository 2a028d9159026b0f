"""/proc/lock_stat of Linux, versions 0.3 and 0.4. Rows have 10 and 12 numbers; times are in microseconds.

It counts since it was cleared: of two captures in one file the difference counts. The table `locks` has no
columns for bounces, shortest times and the time held: they are readings of the lock. The means of version 0.4
are totals over counts, and are not kept. Below a class, the call sites that waited come first, those that
they waited for second. https://docs.kernel.org/locking/lockstat.html
"""

from typing import Any

from steelyard.recordings.cells import exact
from steelyard.recordings.lines import Found, Lines, NotMine, Now, has, noted, rule

_HEADS = """
    contention_bounces_total contended wait_min_ns wait_max_ns wait_total_ns wait_avg
    acquisition_bounces_total acquisitions hold_min_ns hold_max_ns hold_ns_total hold_avg
"""
_COLUMNS = _HEADS.split()
# columns that are readings
_READINGS = (*(name for name in _COLUMNS if name.endswith("_total")), "wait_min_ns", "hold_min_ns")
_COUNTS = ("contended", "wait_total_ns", "wait_max_ns", "acquisitions")
# up to the total of the waits: without it a row of a cut file says nothing
_LEAST = 5


def _heading(now: Now, found: Found) -> None:
    new = found[0].endswith("0.4") or "waittime-avg" in found[0]
    now.words["columns"] = " ".join(name for name in _COLUMNS if new or not name.endswith("avg"))


def _lock(now: Now, found: Found) -> None:
    columns, cells, name = now.words["columns"].split() or _COLUMNS, found[2].split(), found[1]
    now.numbers["rulers"] = 0
    if len(cells) != len(columns) and not (found[3] and _LEAST <= len(cells) < len(columns)):
        raise NotMine
    values = {c: exact(cell) * (1e3 if "_ns" in c else 1) for c, cell in zip(columns, cells, strict=False)}
    captures = f"captures of {name}"
    for metric in _READINGS:
        now.report.sample(now.numbers[captures], name, metric, values.get(metric))
    now.numbers[captures] += 1
    counts: dict[str, Any] = {c: round(values[c]) for c in _COUNTS if c in values}
    if "hold_ns_total" in values and values["acquisitions"]:
        counts |= {"hold_total_ns": values["hold_ns_total"], "hold_max_ns": values["hold_max_ns"]}
    now.report.lock(name, {"-R": "rwsem:R", "-W": "rwsem:W"}.get(name[-2:], ""), **counts)


def _ruler(now: Now, found: Found) -> None:
    now.numbers["rulers"] += 1
    now.seen.clear()


def _site(now: Now, found: Found) -> None:
    # the kernel keeps no times of a call site, and has each site once below a ruler
    rulers = now.numbers["rulers"]
    if rulers not in (1, 2) or found[3] in now.seen:
        now.numbers["rulers"] = 3
        raise NotMine
    now.seen.add(found[3])
    metric = "contentions" if rulers == 1 else "waited_for"
    now.report.sample(0, f"{found[1]} at {found[3]}", metric, float(found[2]))


def _close(now: Now) -> None:
    now.report.differences("locks", "/proc/lock_stat")
    for row in now.report.rows.get("locks", ()):
        held_ns = row.pop("hold_total_ns", None)
        if held_ns is not None and row["acquisitions"]:
            row["hold_mean_ns"] = held_ns / row["acquisitions"]


# a prefix would become part of a lock's name
sniff = has(r"^\s*(?:lock_stat version 0\.[34]\b|class name    con-bounces)")
read = Lines(
    (
        rule(r"\s*lock_stat version 0\.[34]\b|\s*class name.*", _heading),
        rule(r"\s*(\S.*?):((?:\s+\d+(?:\.\d+)?)+)\s*(\.\.\.)?\s*", _lock),
        rule(r"\s+-+\s*", _ruler),
        rule(r"\s*(\S.*?)\s+(\d+)\s+\[<[0-9a-fx]+>\]\s+(\S+)\s*", _site),
        noted(
            r"\s*All lock debugging disabled\s*|\*WARNING\* lock debugging disabled.*",
            "lock_stat: all lock debugging disabled: its counts stopped",
        ),
    ),
    _close,
)
