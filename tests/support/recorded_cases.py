"""Files in the shape of public reports, and what is read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import layouts
from readings import readings

from steelyard.recordings.importing import import_files
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import PlacedRun, Report
from steelyard.recordings.source import Source

CASES = Path(__file__).parent.parent / "quick/recordings/cases"
Series = dict[tuple[str, str], list[tuple[float, float]]]


def read(name: str, not_understood: int = 0) -> list[Report]:
    source = Source(CASES / name)
    found = reports_in(source)
    assert source.skipped.count == not_understood, source.skipped.lines
    return found


def one(name: str, not_understood: int = 0) -> Report:
    (report,) = read(name, not_understood)
    return report


def of_text(folder: Path, text: str, name: str = "report.txt") -> tuple[list[Report], Source]:
    (folder / name).write_text(text)
    source = Source(folder / name)
    return reports_in(source), source


def codes(report: Report) -> set[str]:
    return {code for code, _ in report.notices}


def figures(report: Report) -> dict[str, float]:
    return {figure.name: figure.value for figure in report.figures}


def series(report: Report) -> Series:
    """Times and values by entity and metric."""
    found: Series = {}
    for sample in readings(report.samples):
        found.setdefault((sample.entity, sample.metric), []).append((sample.at_s, sample.value))
    return found


def work(report: Report) -> tuple[int, int, float | None, int | None]:
    assert report.work is not None and report.work.foots
    return report.work.transactions, report.work.errors, report.seconds, report.clients


def placed(*arguments: Path, folders: bool = True) -> Sequence[PlacedRun]:
    return import_files([*map(str, arguments)], [], folders, lambda path, share: None).runs


def written(folder: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def pgbench(done: int = 6000, clients: int = 4, kind: str = "<builtin: select only>") -> str:
    return (
        f"transaction type: {kind}\nscaling factor: 1\nnumber of clients: {clients}\nduration: 60 s\n"
        f"number of transactions actually processed: {done}\n"
        f"tps = {done / 60:.6f} (without initial connection time)\nlatency average = 1.{done} ms\n"
    )


def vmstat(rows: int) -> str:
    """A reading a second: `us` counts up to 50 and begins again, `cs` grows."""
    heading, names, *_ = layouts.VMSTAT.splitlines()
    began = datetime(2026, 3, 2)
    body = (
        f"1 0 0 1000 10 20 0 0 5 6 700 {i} {i % 50} 10 {90 - i % 50} 0 0 {began + timedelta(seconds=i)}"
        for i in range(rows)
    )
    return "\n".join([heading, names, *body]) + "\n"
