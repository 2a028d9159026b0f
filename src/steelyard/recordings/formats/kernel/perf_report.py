"""perf report --stdio. Shares of the samples by symbol.

With -n the number of samples is a column. Without it, it is the printed share of all samples. From 1,000 on
perf cuts their number off to thousands (`11K` is 11,000 to 11,999; tools/perf/util/units.c), so such counts
may be that much too low; shares are exact to 0.01 %. Samples not listed (--percent-limit) are one row.
Of several events the first that has samples is the profile.
"""

import re

from steelyard.recordings.cells import exact
from steelyard.recordings.lines import Found, Lines, NotMine, Now, has, known, noted, rule, word

# a command may hold blanks, as threads of browsers do; a group of events has more shares
_SYMBOL = re.compile(r"(?![\d.]+%)(?:(\S.*?)\s{2,})?(\S.*?)\s+\[([.kugH])\] (\S.*)")
# columns of newer versions, empty without the processor's branch records
_IPC = re.compile(r"\s{2,}(-|[\d.]+)\s+(-|\[[^]]*\])\s*$")
_TIMES = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}
# printed shares of all functions add up to 99.9 to 100.1 %
_ROUNDING = 0.001


def _samples(now: Now, found: Found) -> None:
    n, facts, times, event = now.numbers, now.report.facts, _TIMES[found[2]], found["event"]
    now.words["columns"] = ""
    if "event" in facts:
        n["left_out"] = 1
        text = f"several events: the profile is of {facts['event']}, {event} is left out"
        now.report.notice("event-left-out", text)
    elif total := exact(found[1]) * times:
        facts["event"] = event
        n |= {"total": total, "most": total + times - 1}


def _row(now: Now, found: Found) -> None:
    columns, n = now.words["columns"], now.numbers
    if n["left_out"]:
        return
    with_count = " Samples" in columns
    cell, rest = found[3].split(maxsplit=1) if with_count else ("", found[3])
    symbol = _SYMBOL.fullmatch(rest)
    fits = columns and n["total"] and bool(found[1]) == ("Children" in columns)
    if symbol is None or not fits:
        raise NotMine
    command, of, kind, name = symbol.groups()
    # without a column of objects the first cell is a command
    command = command or of * ("Command" in columns and "Shared" not in columns)
    percent = exact(found[2])
    count = int(cell) if with_count else round(n["total"] * percent / 100)
    function = _IPC.sub("", name).replace(";", ":") + ("_[k]" if kind == "k" else "")
    n["counted"] = with_count
    n["listed"] += count
    n["percent"] += percent
    now.report.stack(f"{command or 'all'};{function}", count)


def _close(now: Now) -> None:
    n, report = now.numbers, now.report
    if not n["percent"]:
        return
    # where perf cut off the number, the shares give it more exactly
    whole = min(max(100 * n["listed"] / n["percent"], n["total"]), n["most"])
    if (rest := whole - n["listed"]) > _ROUNDING * whole:
        report.stack("functions not listed", round(rest))
    if n["most"] > n["total"] and not n["counted"]:
        text = f"perf cut the number of samples off: {n['total']:,.0f} to {n['most']:,.0f}; shares are exact"
        report.notice("samples-cut-off", text)


sniff = has("^# Samples: ", r"#\s+(?:Children\s+Self|Overhead)\s")
read = Lines(
    (
        rule(r"# Samples: (N)([KMG]?) +of events? '?(?P<event>[^']+)'?.*", _samples, "{event}"),
        # rows below other columns are not understood
        word(
            r"(?P<columns>#\s+(?:Children\s+Self|Overhead)(?:\s+Samples)?(?:\s+Command)?"
            r"(?:\s+Shared Object)?)\s+Symbol(?:\s+IPC.*)?\s*"
        ),
        noted(r"# Total Lost Samples: [1-9].*", "perf: {}"),
        known(r"#|\s+\||\s+-+$|[|\s]*[-|].*$|\s+\d+\.\d+%--|---"),
        rule(r"\s+(N%\s+)?(N)%\s+(\S.*?)\s*", _row),
    ),
    _close,
)
