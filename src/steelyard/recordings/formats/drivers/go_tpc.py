"""go-tpc: its [Summary] lines and tpmC. Percentiles are go-tpc's own."""

from __future__ import annotations

import re

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source

TITLE = "go-tpc: [Summary] and tpmC"

_LINE = re.compile(r"\[(Summary|Current)\] (\w+) +- (Takes\(s\): [\d.]+(?:, [\w().]+: [\d.]+)+)")
_PAIR = re.compile(r"([\w().]+): (\d+(?:\.\d+)?)")
_TPMC = re.compile(r"tpmC: ([\d.]+)(?:, tpmTotal: ([\d.]+))?(?:, efficiency: ([\d.]+)%)?")


def sniff(head: str) -> bool:
    """Whether a summary or a current result is there."""
    return bool(re.search(r"^\[(Summary|Current)\] \w+ +- Takes\(s\): ", head, re.MULTILINE))


def read(source: Source) -> list[Report]:
    """One report: names that end in _ERR count failures."""
    report = Report("drivers/go_tpc", source.place(source.first))
    done = failed = 0
    longest = 0.0
    for line, text in source.lines():
        if found := _LINE.fullmatch(text.strip()):
            values = {name: exact(value) for name, value in _PAIR.findall(found[3])}
            at = values.get("Takes(s)", 0.0)
            for name, value in values.items():
                metric = name.replace("(", "_").replace(")", "").lower()
                report.sample(
                    at if found[1] == "Current" else 0, f"{found[1].lower()} {found[2]}", metric, value
                )
            if found[1] == "Summary":
                longest = max(longest, at)
                count = int(values.get("Count", 0))
                done, failed = (done, failed + count) if found[2].endswith("_ERR") else (done + count, failed)
        elif found := _TPMC.fullmatch(text.strip()):
            report.figure("tpmc", exact(found[1]), "new orders/min", "higher")
            report.figure("tpm_total", exact(found[2]) if found[2] else None, "transactions/min", "higher")
        elif not re.match(r"(Finished|Starting|creating|load|begin|finish|PREPARE|maxprocs)", text):
            source.skip(line, text)
    if longest and done:
        report.seconds, report.work = longest, Work(done, failed, detail=1)
    return [report]
