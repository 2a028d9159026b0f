"""perf lock contention. The columns vary with its options, so they are read from the heading."""

from steelyard.recordings.cells import time_ns
from steelyard.recordings.lines import Found, Lines, NotMine, Now, Words, has, known, noted, rule, word

_TIME = r"([\d.]+ (?:h|m|s|ms|us|ns))"
_HEADING = r"\s*contended\s+total wait\s+max wait\s+avg wait\s+(?P<columns>\S.*?)\s*"


def _lock(now: Now, found: Found) -> None:
    if not (columns := now.words["columns"].split()):
        raise NotMine
    parts = Words(zip(columns, found[5].split(maxsplit=len(columns) - 1), strict=False))
    kind, symbol, address = parts["type"], parts["symbol"], parts["address"]
    # a lock without a symbol, and a thread, are told by their number
    number = parts["pid"] or address * (not symbol or symbol.startswith("("))
    now.counts[address, 0] += 1
    now.report.lock(
        " ".join(filter(None, (symbol or parts["comm"] or parts["owner"], number))) or kind or found[5],
        kind,
        parts["caller"],
        contended=int(found[1]),
        wait_total_ns=round(time_ns(found[2]) or 0),
        wait_max_ns=round(time_ns(found[3]) or 0),
        distinct_locks=int(now.counts[address, 0] == 1) if address else None,
    )


sniff = has(rf"^{_HEADING}$")
# a row per lock, caller or thread
read = Lines(
    (
        word(_HEADING),
        rule(rf"\s*(\d+)\s+{_TIME}\s+{_TIME}\s+{_TIME}\s+(\S.*?)\s*", _lock),
        noted(r"bad: [1-9]\d*, total: .*", "perf lock: {}"),
        known(r"\s+0x[0-9a-f]+\s+\S+$|=== output for debug ===$|bad(?: rate)?: |histogram of"),
    )
)
