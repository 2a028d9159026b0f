"""HammerDB's repository: what it gives, and that damage is refused or reported, never read as nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readings import readings

from steelyard.errors import InputError
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TABLES = """
create table JOBMAIN(jobid, db, bm, jobdict, timestamp, profile_id);
create table JOBTIMING(jobid, vu, procname, calls, min_ms, avg_ms, max_ms, total_ms, p99_ms,
    p95_ms, p75_ms, p50_ms, p25_ms, sd, ratio_pct, summary, elapsed_ms);
create table JOBTCOUNT(jobid, counter, metric, timestamp);
create table JOBOUTPUT(jobid, vu, output);
"""
JOB = """
insert into JOBMAIN values ('J1', 'MariaDB', 'TPC-C', '', '2026-03-02 10:00:00', 0);
insert into JOBOUTPUT values ('J1', 0, '8 Active Virtual Users configured'),
    ('J1', 1, 'TEST RESULT : System achieved 1000 NOPM from 3000 MariaDB TPM');
insert into JOBTCOUNT values ('J1', 0, 'MariaDB tpm', '2026-03-02 10:00:00'),
    ('J1', 2900, 'MariaDB tpm', '2026-03-02 10:00:10'), ('J1', 3100, 'MariaDB tpm', '2026-03-02 10:00:20');
insert into JOBTIMING(jobid, procname, calls, min_ms, p99_ms, summary) values ('J1', 'NEWORD', 17, 0.5, 9, 1);
"""
FAILED = """
insert into JOBMAIN values ('J2', 'MariaDB', 'TPC-C', '', '2026-03-02 11:00:00', 0);
insert into JOBOUTPUT values ('J2', 0, 'Vuser 1:FINISHED FAILED');
"""


def repository(place: Path, *statements: str) -> Path:
    place.unlink(missing_ok=True)
    with closing(sqlite3.connect(place)) as database:
        database.executescript("".join(statements))
        database.commit()
    return place


def read(place: Path) -> tuple[list[Report], Source]:
    source = Source(place)
    return reports_in(source), source


def test_a_job_has_its_result_counts_and_times(tmp_path: Path) -> None:
    ((report,), source) = read(repository(tmp_path / "hammer.DB", TABLES, JOB))
    assert {f.name: f.value for f in report.figures} == {"nopm": 1000, "tpm": 3000}
    # 3000 per minute over the 20 s that were counted
    assert report.seconds == 20.0 and report.work is not None and report.work.transactions == 1000
    assert report.clients == 8
    values = {(s.at_s, s.entity, s.metric): s.value for s in readings(report.samples)}
    assert values[20.0, "hammerdb", "tpm"] == 3100
    assert values[0, "procedure NEWORD", "p99_ms"] == 9
    assert source.skipped.count == 0


def test_a_job_without_a_result_is_reported(tmp_path: Path) -> None:
    reports, source = read(repository(tmp_path / "hammer.DB", TABLES, JOB, FAILED))
    assert len(reports) == 1
    assert [text for _, text in source.skipped.lines] == ["job J2: no result"]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ([TABLES], "holds no jobs"),
        ([TABLES, FAILED], 'nothing in this file was understood; the first line is "job J2: no result'),
        (["create table other(a);"], "no such table: JOBMAIN"),
    ],
)
def test_a_repository_without_a_result_is_refused(
    tmp_path: Path, statements: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(repository(tmp_path / "hammer.DB", *statements))


CELLS = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=30), st.binary(max_size=30)
)
FUZZ = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@FUZZ
@given(job=st.lists(CELLS, min_size=9, max_size=9))
def test_any_cells_are_read_reported_or_refused(tmp_path: Path, job: list[object]) -> None:
    place = repository(tmp_path / "hammer.DB", TABLES)
    with closing(sqlite3.connect(place)) as database:
        database.execute("insert into JOBMAIN values (?, ?, ?, '', ?, 0)", job[:4])
        database.execute("insert into JOBOUTPUT values (?, 0, ?)", [job[0], job[4]])
        result = "TEST RESULT : System achieved 1000 NOPM from 3000 MariaDB TPM"
        database.execute("insert into JOBOUTPUT values (?, 1, ?)", [job[0], result])
        database.execute("insert into JOBTCOUNT values (?, ?, 'tpm', ?)", [job[0], job[5], job[6]])
        database.execute("insert into JOBTCOUNT values (?, 5, 'tpm', '2026-03-02 10:00:00')", [job[0]])
        timing = "insert into JOBTIMING(jobid, procname, calls, summary) values (?, ?, ?, 1)"
        database.execute(timing, [job[0], job[7], job[8]])
        database.commit()
    try:
        reports, _ = read(place)
    except InputError as refused:
        assert "hammer.DB" in str(refused)
    else:
        assert all(report.figures and report.work for report in reports)


@FUZZ
@given(data=st.data())
def test_damaged_bytes_are_refused_or_leave_the_result_whole(tmp_path: Path, data: st.DataObject) -> None:
    place = repository(tmp_path / "hammer.DB", TABLES, JOB)
    content = bytearray(place.read_bytes())
    content = content[: data.draw(st.one_of(st.just(len(content)), st.integers(16, len(content))))]
    for _ in range(data.draw(st.integers(0, 40), label="damages")):
        at = data.draw(st.integers(16, len(content)))
        content[at : at + 4] = data.draw(st.binary(min_size=1, max_size=4))
    place.write_bytes(bytes(content))
    try:
        reports, _ = read(place)
    except InputError as refused:
        assert "hammer.DB" in str(refused)
    else:
        assert reports and all(report.figures and report.work for report in reports)
