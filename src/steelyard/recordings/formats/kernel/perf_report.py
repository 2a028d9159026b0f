"""perf report --stdio. Shares of the samples by symbol.

With -n the number of samples is a column. Without it, it is the printed share of all samples. From 1,000 on
perf cuts their number off to thousands (`11K` is 11,000 to 11,999; tools/perf/util/units.c), so such counts
may be that much too low; shares are exact to 0.01 %. Of several events the first is the profile.
"""

import re

from steelyard.recordings.cells import exact
from steelyard.recordings.lines import Found, Lines, NotMine, Now, has, known, rule, word

# a command may hold blanks, as threads of browsers do
_SYMBOL = re.compile(r"(?:(\S.*?)\s{2,})?(\S.*?)\s+\[([.kugH])\] (\S.*)")
# columns of newer versions, empty without the processor's branch records
_IPC = re.compile(r"\s{2,}(-|[\d.]+)\s+(-|\[[^]]*\])\s*$")
_TIMES = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}


def _samples(now: Now, found: Found) -> None:
    now.words["columns"] = ""
    times, event = _TIMES[found[2]], found[3]
    now.numbers["total"] = exact(found[1]) * times
    now.words["event"] = event
    if now.report.facts.setdefault("event", event) != event:
        text = f"several events: the profile is of {now.report.facts['event']}, {event} is left out"
        now.report.notice("event-left-out", text)
    elif times > 1:
        now.numbers["most"] = now.numbers["total"] + times - 1


def _row(now: Now, found: Found) -> None:
    columns, n = now.words["columns"], now.numbers
    with_count = " Samples" in columns
    counted = re.fullmatch(r"(\d+)\s+(\S.*)", found[3]) if with_count else None
    symbol = _SYMBOL.fullmatch(counted[2] if counted else found[3])
    fits = columns and bool(found[1]) == ("Children" in columns) and bool(counted) == with_count
    if symbol is None or not fits:
        raise NotMine
    command, _, kind, name = symbol.groups()
    count = int(counted[1]) if counted else round(n["total"] * exact(found[2]) / 100)
    function = _IPC.sub("", name).replace(";", ":") + ("_[k]" if kind == "k" else "")
    n["counted"] = with_count
    if now.words["event"] == now.report.facts["event"]:
        now.report.stack(f"{command or 'all'};{function}", count)


def _close(now: Now) -> None:
    if (most := now.numbers["most"]) and not now.numbers["counted"]:
        total = now.numbers["total"]
        text = f"perf cut the number of samples off: {total:,.0f} to {most:,.0f}; shares are exact"
        now.report.notice("samples-cut-off", text)


sniff = has("^# Samples: ", r"#\s+(?:Children\s+Self|Overhead)\s")
read = Lines(
    (
        rule(r"# Samples: (N)([KMG]?) +of event '?([^']+)'?.*", _samples),
        # rows below other columns are not understood
        word(
            r"(?P<columns>#\s+(?:Children\s+Self|Overhead)(?:\s+Samples)?)(?:\s+Command)?"
            r"(?:\s+Shared Object)?\s+Symbol\b.*"
        ),
        known(r"#|\s+\||\s+-+$|[|\s]*[-|].*$|\s+\d+\.\d+%--|---"),
        rule(r"\s+(N%\s+)?(N)%\s+(\S.*?)\s*", _row),
    ),
    _close,
)
