"""HammerDB's repository hammer.DB (SQLite). One report per job, by the rules of its text."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from steelyard.errors import InputError, brief
from steelyard.recordings.formats.drivers import hammerdb
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

_TIMES = ("calls", "min_ms", "avg_ms", "max_ms", "total_ms", "p99_ms", "p95_ms", "p50_ms")
# between two looks at the clock: a query of somebody else's file may never end
_STEPS = 100_000

sniff = has(r"\ASQLite format 3")


def read(source: Source) -> list[Report]:
    """One report per job that has a result; others are not understood. Raises InputError."""
    try:
        with closing(
            sqlite3.connect(f"{source.path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as file:
            file.set_progress_handler(lambda: source.deadline.left_s < 0, _STEPS)
            file.executescript("pragma query_only = on; pragma trusted_schema = off")
            ((check, *_),) = file.execute("pragma quick_check(1)").fetchall()
            if check != "ok":
                raise sqlite3.DatabaseError(brief(str(check), 120))
            if views := file.execute("select name from sqlite_master where type = 'view'").fetchall():
                raise sqlite3.DatabaseError(f"a view, {views[0][0]!r:.60}, where tables are expected")
            jobs = file.execute("select jobid, db, bm from JOBMAIN order by timestamp, rowid").fetchall()
            found = [one for i, job in enumerate(jobs, start=1) for one in _job(source, file, i, *job)]
    except (sqlite3.Error, ValueError) as error:
        source.deadline.check(source.path)
        raise InputError(f"{source.path}: cannot be read as HammerDB's repository: {error}") from None
    if not jobs:
        raise InputError(f"{source.path}: HammerDB's repository holds no jobs")
    return found


def _job(source: Source, file: sqlite3.Connection, number: int, jobid: Any, *kinds: Any) -> list[Report]:
    lines = ((number, text.replace("\n", " ")) for text in _lines(file, jobid))
    found = [report for report in hammerdb.read(source, lines) if report.work]
    if not found:
        source.skip(number, f"job {jobid}: no result")
    for report in found:
        report.place = f"{source.path}: job {brief(str(jobid), 40)}"
        report.facts |= dict(zip(("database", "benchmark"), map(str, kinds), strict=True))
    return found


def _lines(file: sqlite3.Connection, jobid: Any) -> Iterator[str]:
    output = "select vu, output from JOBOUTPUT where jobid is ? order by rowid"
    for user, text in file.execute(output, [jobid]):
        yield f"Vuser {user}:{text}"
    for at, count in file.execute(
        "select timestamp, counter from JOBTCOUNT where jobid is ? order by timestamp", [jobid]
    ):
        yield f'"{at}": "{count}"'
    for name, *values in file.execute(
        f"select procname, {', '.join(_TIMES)} from JOBTIMING where jobid is ? and summary = 1", [jobid]
    ):
        yield f'"{str(name).replace(chr(34), "")}": {{'
        for metric, value in zip(_TIMES, values, strict=True):
            if value is not None:
                yield f'"{metric}": "{value}"'
