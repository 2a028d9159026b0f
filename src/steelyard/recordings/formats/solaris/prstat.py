"""prstat -mL (Solaris). Where each thread spent its time, in percent of it. A heading begins a reading.

Counts from 1,000 are abbreviated, those from 100,000 as tenths of a million: `.1M`.
"""

import math

from steelyard.recordings.cells import abbreviated, exact
from steelyard.recordings.lines import Found, Lines, Now, has, rule

_COLUMNS = "USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG"
_HEADING = rf" *PID USERNAME {_COLUMNS} PROCESS/"
_CELL = r"(\d[\d.]*[KMG]?|\.\d[KMG]|-)"
_SHARES = 8


def _heading(now: Now, found: Found) -> None:
    now.words["of"] = found[1]
    now.numbers["at"] = now.numbers.get("at", -1) + 1


def _thread(now: Now, found: Found) -> None:
    cells = found.groups()[2:14]
    values = [*map(exact, cells[:_SHARES]), *map(abbreviated, cells[_SHARES:])]
    # without -L the number of threads follows, which changes
    name = found[15].rpartition("/")[0] if now.words["of"] == "NLWP" else found[15]
    for i, (column, value) in enumerate(zip(_COLUMNS.lower().split(), values, strict=True)):
        metric = column + ("_percent" if i < _SHARES else "")
        now.report.sample(now.numbers["at"], f"{found[1]} {name}", metric, value)


def _total(now: Now, found: Found) -> None:
    at_s = now.numbers["at"]
    now.report.samples.add_row(at_s, "host", {"lwps": exact(found[1]), "load_1_min": exact(found[2])})


def _close(now: Now) -> None:
    """Without the first reading, which is of the whole life of each thread, if others follow."""
    report, later = now.report, now.report.samples.within(1, math.inf)
    report.notice("interval-unknown", "prstat prints no times: its readings are numbered")
    first = "the first reading of prstat counts since a thread began: left out"
    report.notice("since-boot", first if later else "the one reading of prstat counts since a thread began")
    if later:
        later.later(-1)
        report.samples = later


sniff = has(f"^{_HEADING}")
read = Lines(
    (
        rule(rf"{_HEADING}(\w+)\s*", _heading),
        rule(r"Total: \d+ processes, (\d+) lwps, load averages: (N), N, N\s*", _total),
        # the user may follow its process without a gap
        rule(
            rf"\s*(\d+)\s*([A-Za-z_]\S*?)(?:\s+{_CELL})"
            + rf"\s+{_CELL}" * 11
            + r"\s+(\S+|[^\s\d]\S*(?: \S+)+)\s*",
            _thread,
        ),
    ),
    _close,
)
