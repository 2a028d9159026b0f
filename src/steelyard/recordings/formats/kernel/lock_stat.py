"""/proc/lock_stat of Linux, versions 0.3 (10 numbers a row) and 0.4 (12): times in microseconds.

It counts since it was cleared: of two captures in one file the difference counts. The table `locks` has no
columns for bounces, shortest times and the time held: they are readings of the lock. The means of version 0.4
are totals over counts, and are not kept. Below a class, the call sites that waited come first, those that
they waited for second. https://docs.kernel.org/locking/lockstat.html
"""

from typing import Any

from steelyard.recordings.cells import exact
from steelyard.recordings.lines import Found, Lines, Now, has, noted, rule

TITLE = "/proc/lock_stat of Linux, versions 0.3 and 0.4"

_NEW = (
    "con-bounces", "contentions", "waittime-min", "waittime-max", "waittime-total", "waittime-avg",
    "acq-bounces", "acquisitions", "holdtime-min", "holdtime-max", "holdtime-total", "holdtime-avg",
)  # fmt: skip
_OLD = tuple(name for name in _NEW if not name.endswith("avg"))
# columns that are readings: their metric, and what a unit of them is
_READINGS = {
    "con-bounces": ("contention_bounces", 1),
    "acq-bounces": ("acquisition_bounces", 1),
    "waittime-min": ("wait_min_ns", 1e3),
    "holdtime-min": ("hold_min_ns", 1e3),
    "holdtime-total": ("hold_total_ns", 1e3),
}
# up to the total of the waits: without it a row of a cut file says nothing
_LEAST = 5


def _heading(now: Now, found: Found) -> None:
    now.words["names"] = "new" if found[0].endswith("0.4") or "waittime-avg" in found[0] else "old"


def _lock(now: Now, found: Found) -> bool | None:
    names, cells = _OLD if now.words["names"] == "old" else _NEW, found[2].split()
    now.numbers |= {"rulers": 0, "class": now.numbers["class"] + 1}
    if len(cells) != len(names) and not (found[3] and _LEAST <= len(cells) < len(names)):
        return False
    values = {column: exact(cell) for column, cell in zip(names, cells, strict=False)}
    name, capture = found[1], now.numbers[f"captures of {found[1]}"]
    now.numbers[f"captures of {name}"] = capture + 1
    for column, (metric, times) in _READINGS.items():
        now.report.sample(capture, name, metric, values[column] * times if column in values else None)
    more: dict[str, Any] = {}
    if "acquisitions" in values:
        more["acquisitions"] = int(values["acquisitions"])
    if "holdtime-total" in values and values["acquisitions"]:
        more["hold_mean_ns"] = 1e3 * values["holdtime-total"] / values["acquisitions"]
        more["hold_max_ns"] = 1e3 * values["holdtime-max"]
    now.report.lock(
        name,
        {"-R": "rwsem:R", "-W": "rwsem:W"}.get(name[-2:], ""),
        contended=int(values["contentions"]),
        wait_total_ns=round(1e3 * values["waittime-total"]),
        wait_max_ns=round(1e3 * values["waittime-max"]),
        **more,
    )
    return None


def _ruler(now: Now, found: Found) -> None:
    now.numbers["rulers"] += 1


def _site(now: Now, found: Found) -> bool | None:
    # the kernel keeps no times of a call site, and has each site once below a ruler
    n, rulers = now.numbers, now.numbers["rulers"]
    site = f"{n['class']} {found[3]}", rulers
    if rulers not in (1, 2) or site in n:
        n["rulers"] = 3
        return False
    n[site] = 1
    metric = "contentions" if rulers == 1 else "waited_for"
    now.report.sample(0, f"{found[1]} at {found[3]}", metric, float(found[2]))
    return None


sniff = has(r"lock_stat version 0\.[34]\b|class name    con-bounces")
read = Lines(
    (
        rule(r".*lock_stat version 0\.[34]\b|\s*class name.*", _heading),
        rule(r"\s*(\S.*?):((?:\s+\d+(?:\.\d+)?)+)\s*(\.\.\.)?\s*", _lock),
        rule(r"\s+-+\s*", _ruler),
        rule(r"\s*(\S.*?)\s+(\d+)\s+\[<[0-9a-fx]+>\]\s+(\S+)\s*", _site),
        noted(
            r"\s*All lock debugging disabled\s*", "lock_stat: all lock debugging disabled: its counts stopped"
        ),
    ),
    lambda now: now.report.differences("locks", "/proc/lock_stat"),
)
