"""BenchBase: *.raw.csv. A row per transaction, with its worker."""

import re

from steelyard.recordings.events import asked, reduced
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

_HEADING = (
    "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),"
    "Worker Id (start number),Phase Id (index in config file)"
)
_COLUMNS = {"kind": "INTEGER", "name": "VARCHAR", "start": "DOUBLE", "took": "BIGINT", "worker": "INTEGER",
            "phase": "INTEGER"}  # fmt: skip
# a row that was cut off, or lost a cell, has no phase; a start before 1973 is no time;
# BenchBase writes the start in seconds with six decimals, whatever its heading says, or in microseconds
_EVENTS = """
    select if(start < 1e11, start * 1e6, start)::bigint + took as end_us, took as us, worker as client,
        case when start is null or took is null or took < 0 or start < 1e8 or worker is null or phase is null
            then null else 'done' end as state
    from raw
"""

sniff = has(rf"\A{re.escape(_HEADING)}")


def read(source: Source) -> list[Report]:
    """One report of the whole file."""
    found = reduced(source, _COLUMNS, _EVENTS)
    ((phases,),) = asked(source, _COLUMNS, "select count(distinct phase) from raw", ",")
    if phases > 1:
        found[0].notice("phases-joined", f"{phases} phases of BenchBase's configuration are one run")
    return found
