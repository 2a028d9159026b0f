"""`perf report --stdio`: shares of the samples by symbol.

Samples per symbol are the printed share of all samples. From 1,000 on perf cuts their number off to thousands
(`11K` is 11,000 to 11,999; tools/perf/util/units.c), so absolute counts may be that much too low; shares are
exact to 0.01 %.
"""

from __future__ import annotations

import re

from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "perf report --stdio"

_SAMPLES = re.compile(r"# Samples: ([\d.]+)([KMG]?) +of event '?([^']+)'?")
_COLUMNS = re.compile(r"#\s+(?:Children\s+Self|Overhead)\s")
_ROW = re.compile(r"\s+(?:[\d.]+%\s+)?([\d.]+)%\s+(\S.*?)\s*")
# a command may hold blanks, as threads of browsers do
_SYMBOL = re.compile(r"(?:(\S.*?)\s{2,})?(\S.*?)\s+\[([.kugH])\] (\S.*)")
# columns of newer versions, empty without the processor's branch records
_IPC = re.compile(r"\s{2,}(-|[\d.]+)\s+(-|\[[^]]*\])\s*$")
_TREE = re.compile(r"\s+(\||-|--|[|\s]*[-|].*|\d+\.\d+%--.*)")
_TIMES = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}


def sniff(head: str) -> bool:
    """Whether its header tells the samples."""
    return bool(re.search(r"^# Samples: ", head, re.MULTILINE)) and bool(_COLUMNS.search(head))


def read(source: Source) -> list[Report]:
    """One report per event."""
    found: list[Report] = []
    total = 0.0
    for number, text in source.lines():
        if samples := _SAMPLES.match(text):
            found.append(Report(source.place(number)))
            found[-1].facts["event"] = samples[3]
            times = _TIMES[samples[2]]
            total = float(samples[1]) * times
            if times > 1:
                most = total + times - 1
                text_ = f"perf cut the number of samples off: {total:,.0f} to {most:,.0f}; shares are exact"
                found[-1].notices.append(("samples-cut-off", text_))
        elif text.startswith("#") or _TREE.fullmatch(text):
            continue
        elif found and total and (row := _ROW.fullmatch(text)) and (symbol := _SYMBOL.fullmatch(row[2])):
            command, _, kind, name = symbol.groups()
            name = _IPC.sub("", name)
            function = name.replace(";", ":") + ("_[k]" if kind == "k" else "")
            count = round(total * float(row[1]) / 100)
            role = "idle" if command == "swapper" else ""
            found[-1].row("profile", role=role, stack=f"{command or 'all'};{function}", samples=count)
        elif text.strip() and not text.startswith("---"):
            source.skip(number, text)
    return found
