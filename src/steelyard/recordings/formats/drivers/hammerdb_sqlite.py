"""HammerDB's own repository, hammer.DB: a SQLite file; one report per job."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from datetime import datetime
from typing import Any

from steelyard.recordings.cells import LARGEST
from steelyard.recordings.formats.drivers import hammerdb
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.study.errors import InputError, brief

TITLE = "HammerDB's repository hammer.DB (SQLite)"

_TIMES = ("calls", "min_ms", "avg_ms", "max_ms", "total_ms", "p99_ms", "p95_ms", "p50_ms")


def sniff(head: str) -> bool:
    """Whether it is a SQLite file."""
    return head.startswith("SQLite format 3")


def read(source: Source) -> list[Report]:
    """One report per job that has a result; others are not understood. Raises InputError."""
    try:
        with closing(
            sqlite3.connect(f"{source.path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as file:
            file.execute("pragma query_only = on")
            ((check, *_),) = file.execute("pragma quick_check(1)").fetchall()
            if check != "ok":
                raise sqlite3.DatabaseError(brief(str(check), 120))
            jobs = file.execute("select jobid, db, bm from JOBMAIN order by timestamp, rowid").fetchall()
            found = [_job(source, file, number, *job) for number, job in enumerate(jobs, start=1)]
    except (sqlite3.Error, ValueError) as error:
        raise InputError(f"{source.path}: cannot be read as HammerDB's repository: {error}") from None
    if not jobs:
        raise InputError(f"{source.path}: HammerDB's repository holds no jobs")
    return [report for report in found if report.work]


def _job(
    source: Source, file: sqlite3.Connection, number: int, jobid: Any, kind: Any, benchmark: Any
) -> Report:
    report = Report("drivers/hammerdb_sqlite", f"{source.path}: job {brief(str(jobid), 40)}")
    report.facts = {"database": str(kind), "benchmark": str(benchmark)}
    for (text,) in file.execute("select output from JOBOUTPUT where jobid is ? order by rowid", [jobid]):
        if not report.figures and not hammerdb.take_users(report, str(text)):
            hammerdb.take_result(report, str(text))
    if not report.figures:
        source.skip(number, f"job {jobid}: no result")
        return report
    columns = ", ".join(_TIMES)
    for name, *values in file.execute(
        f"select procname, {columns} from JOBTIMING where jobid is ? and summary = 1", [jobid]
    ):
        for metric, value in zip(_TIMES, values, strict=True):
            if value is not None:
                report.sample(0, f"procedure {name}", metric, _number(source, number, value))
    return hammerdb.closed(report, _counts(source, file, number, jobid))


def _counts(
    source: Source, file: sqlite3.Connection, number: int, jobid: Any
) -> list[tuple[datetime, float]]:
    """Transactions per minute at their times."""
    found: list[tuple[datetime, float]] = []
    for at, counter in file.execute("select timestamp, counter from JOBTCOUNT where jobid is ?", [jobid]):
        try:
            moment = datetime.fromisoformat(str(at)).replace(tzinfo=None)
        except ValueError:
            source.skip(number, f"job {jobid}: a count at {at!r}")
            continue
        if (value := _number(source, number, counter)) is not None:
            found.append((moment, value))
    return sorted(found)


def _number(source: Source, number: int, cell: Any) -> float | None:
    """A cell that HammerDB writes as a number or as its text; any other is not understood."""
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if 0 <= value <= LARGEST:
        return value
    source.skip(number, f"not a number: {cell!r}")
    return None
