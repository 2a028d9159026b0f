"""HammerDB: its output as text, and the JSON that its command line prints. NOPM and TPM are per minute."""

from __future__ import annotations

import re
from datetime import datetime

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source

TITLE = "HammerDB: text and JSON output"

_RESULT = re.compile(r".*TEST RESULT ?: System achieved (\d+) NOPM from (\d+) ([A-Za-z].*?) TPM.*")
_USERS = re.compile(r".*?(\d+) (?:Active )?Virtual Users (?:configured|Created).*", re.IGNORECASE)
_COUNT = re.compile(r'\s*"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)": "(\d+)",?')
_NAME = re.compile(r'\s*"([A-Z][A-Z_ ]+)": \{')
_TIMING = re.compile(r'\s*"(\w+_ms|calls|sd|ratio_pct|procname)": "([\d.]+)",?')
_KNOWN = re.compile(
    r'\s*(?:[\[\]{}]+,?|TRANSACTION (?:COUNT|RESPONSE TIMES)|HAMMERDB RESULT|"\d{4}-[^"]*",|"[0-9A-F]{16,}",'
    r"|</?\w+>"
    r'|\{"[^"]* tpm": \{|"[^"]* tpm": \{|Vuser \d+:.*|hammerdb>.*|\}\},?)\s*'
)


def sniff(head: str) -> bool:
    """Whether a result or the counts of HammerDB are there."""
    if head.startswith("SQLite format 3"):
        return False
    return bool(_RESULT.match(head) or re.search(_RESULT.pattern, head)) or "TRANSACTION COUNT" in head


def read(source: Source) -> list[Report]:
    """One report per result; counts and timings that come before it belong to it."""
    found: list[Report] = []
    report = Report("drivers/hammerdb", source.place(source.first))
    counts: list[tuple[datetime, float]] = []
    procedure = ""
    for line, text in source.lines():
        if take_result(report, text):
            found.append(closed(report, counts))
            report, counts = Report("drivers/hammerdb", source.place(line)), []
        elif take_users(found[-1] if found and not report.samples and not counts else report, text):
            continue
        elif count := _COUNT.fullmatch(text):
            counts.append((datetime.fromisoformat(count[1]), float(count[2])))
        elif name := _NAME.fullmatch(text):
            procedure = name[1]
        elif timing := _TIMING.fullmatch(text):
            report.sample(0, f"procedure {procedure or 'not named'}", timing[1], exact(timing[2]))
        elif not _KNOWN.fullmatch(text):
            source.skip(line, text)
    return [*found, closed(report, counts)]


def take_result(report: Report, text: str) -> bool:
    """Whether a line is the result; then its figures are those of the report."""
    if (result := _RESULT.fullmatch(text)) is None:
        return False
    report.figure("nopm", exact(result[1]), "new orders/min", "higher")
    report.figure("tpm", exact(result[2]), "transactions/min", "higher")
    report.facts["TPM of"] = result[3]
    return True


def take_users(report: Report, text: str) -> bool:
    """Whether a line gives the number of virtual users; then it is that of the report."""
    if (users := _USERS.fullmatch(text)) is None:
        return False
    report.clients = int(users[1]) or None
    return True


def closed(report: Report, counts: list[tuple[datetime, float]]) -> Report:
    """Counts of transactions per minute, at their times; work follows from the result, over their span."""
    if counts:
        report.began = counts[0][0]
        report.seconds = (counts[-1][0] - counts[0][0]).total_seconds() or None
        for at, value in counts:
            report.sample((at - counts[0][0]).total_seconds(), "hammerdb", "tpm", value)
    tpm = next((figure.value for figure in report.figures if figure.name == "tpm"), None)
    if tpm is not None:
        if report.seconds is None:
            report.notices.append(
                ("length-unknown", "HammerDB's result gives no length of the run: counts are those of 60 s")
            )
        seconds = report.seconds or 60.0
        report.seconds = seconds
        report.work = Work(round(tpm * seconds / 60), detail=1)
    return report
