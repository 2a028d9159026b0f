"""OProfile's opreport, with and without symbols; names of symbols may hold blanks."""

from __future__ import annotations

import re

from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "OProfile opreport"

_HEADING = re.compile(r"\s*(?:vma +)?samples +(?:cum\. samples +)?%(?: +cum\. %)? +(\S.*?)\s*")
_ROW = re.compile(
    r"\s*([0-9a-f]{8,16} +)?(\d+)( +\d+)? +(?:\d+\.\d+|1\.\de[+-]\d+)(?: +\d+\.\d+)? +(\S.*?)\s*"
)
_ABOUT = re.compile(r"\s*(CPU:|Counted |CPU_CLK|Using |warning:|Processor )")


def sniff(head: str) -> bool:
    """Whether it tells its counter, and names its columns."""
    return "Counted " in head and any(_HEADING.fullmatch(line) for line in head.split("\n"))


def read(source: Source) -> list[Report]:
    """One report: samples by symbol, or by image where there are no symbols."""
    report = Report("kernel/opreport", source.place(source.first))
    columns: list[str] = []
    address = cumulated = False
    for number, text in source.lines():
        if heading := _HEADING.fullmatch(text):
            columns = re.split(r"\s{2,}", heading[1])
            address, cumulated = "vma" in text, "cum. samples" in text
        elif (
            (row := _ROW.fullmatch(text)) and columns and (bool(row[1]), bool(row[3])) == (address, cumulated)
        ):
            parts = row[4].split(maxsplit=len(columns) - 1) if len(columns) > 1 else [row[4]]
            image, symbol = (parts[0], parts[-1]) if len(columns) > 1 else ("", parts[-1])
            kernel = image.startswith(("vmlinux", "no-vmlinux", "kernel"))
            name = symbol.replace(";", ":") + ("_[k]" if kernel else "")
            program = image.rpartition("/")[2]
            stack = f"{program};{name}" if program and not kernel else name
            report.row("profile", role="idle" if "idle" in symbol else "", stack=stack, samples=int(row[2]))
        elif _ABOUT.match(text):
            if "Counted " in text:
                report.facts["counted"] = text.strip()
        else:
            source.skip(number, text)
    return [report]
