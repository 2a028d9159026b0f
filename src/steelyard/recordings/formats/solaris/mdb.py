"""Captures of MDB: ::cpuinfo, ::memstat, ::thread and ::threadlist, priority histograms of them."""

from __future__ import annotations

import re
from collections import Counter

from steelyard.recordings.cells import number
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "MDB ::cpuinfo, ::memstat, ::thread (Solaris)"

_PROMPT = re.compile(r"> *(::|$)")
_CPUINFO = re.compile(r"\s*ID +ADDR +FLG +NRUN +BSPL +PRI +RNRN +KRNRN +SWITCH +THREAD +PROC\s*")
_CPU = re.compile(
    r"\s*(\d+) +([0-9a-f]+) +([0-9a-f]+) +(\d+) +(\d+) +(-?\d+)"
    r" +(\w+) +(\w+) +(t-\d+) +([0-9a-f]+)(?: +(\S.*?))?\s*"
)
_THREADS = re.compile(r"\s*ADDR +STATE +FLG +PFLG +SFLG +PRI +EPRI\b.*")
_THREAD = re.compile(r"\s*([0-9a-f]{4,}) +(\S+) +[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +(-?\d+) +(-?\d+)\b.*")
_MEMORY = re.compile(r"\s*Page Summary +Pages +(MB|Bytes) +%Tot\s*")
_PAGES = re.compile(r"([A-Z]\S*(?: \S+)*) {2,}(\d+) +(\d[\d.]*[KMG]?)(?: +(\d+)%)?\s*")
_TREE = re.compile(r"[\s|+>-]*(\||RUNNING <--\+|READY|EXISTS|ENABLE|PIL THREAD|PRI THREAD.*)[\s|+]*.*")
_WAITING = re.compile(r"[\s|]*(?:READY|EXISTS|ENABLE)?\s*(\d{1,3}) +([0-9a-f]{6,}) +([A-Za-z_(]\S*)\s*")


def sniff(head: str) -> bool:
    """Whether a heading of one of the captures is there."""
    return any(
        _CPUINFO.fullmatch(line) or _THREADS.fullmatch(line) or _MEMORY.fullmatch(line)
        for line in head.split("\n")
    )


def read(source: Source) -> list[Report]:
    """One report: dispatch queues, threads by state and priority, memory by use."""
    report = Report(source.place(source.first))
    table, columns = "", 0
    states: Counter[tuple[str, int]] = Counter()
    for line, text in source.lines():
        if _CPUINFO.fullmatch(text):
            table = "cpu"
        elif _THREADS.fullmatch(text):
            table, columns = "thread", len(text.split())
        elif found := _MEMORY.fullmatch(text):
            table = "memory " + found[1]
        elif table == "cpu" and (row := _CPU.fullmatch(text)):
            report.sample(0, f"cpu {row[1]}", "runnable_threads", float(row[4]))
            report.sample(0, f"cpu {row[1]}", "priority", float(row[6]))
        elif table == "cpu" and (row := _WAITING.fullmatch(text)):
            report.sample(0, f"waiting {row[3]} {row[2]}", "priority", float(row[1]))
        elif table == "thread" and (row := _THREAD.fullmatch(text)) and len(text.split()) == columns:
            states[row[2], int(row[3])] += 1
        elif table.startswith("memory") and (row := _PAGES.fullmatch(text)):
            report.sample(0, row[1], "pages", float(row[2]))
            if table.endswith("MB"):
                report.sample(0, row[1], "mb", number(row[3]))
        elif not _TREE.fullmatch(text) and not _PROMPT.match(text) and set(text.strip()) - {"|"}:
            source.skip(line, text)
    for (state, priority), count in sorted(states.items()):
        report.sample(0, f"threads {state} at priority {priority}", "threads", float(count))
    return [report]
