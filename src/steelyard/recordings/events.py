"""Logs with a row per transaction, reduced by DuckDB in little memory: seconds, latency, clients."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import duckdb

from steelyard._core import histogram_of
from steelyard.bundle.evidence.published import one_file
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source, is_cut_off, is_packed, several_runs

_CLIENTS_MAX = 100_000
_PAUSE_S = 10
# of a state: why its rows do not count
_LEFT_OUT = {"skipped": "transactions were skipped", "sum": "rows are sums or parts of other rows"}
_DONE, _FAILED = (f"coalesce(sum(n) filter (state = '{state}'), 0)::bigint" for state in ("done", "failed"))
# latencies are grouped by their 11 leading bits, as histograms of three digits do
_SHIFT = "greatest(0, floor(log2(greatest(us, 1)))::bigint - 10)"


def _lines_of(path: Path, columns: Mapping[str, str], delimiter: str) -> str:
    """A table function of DuckDB that reads a text file; lines that do not fit go to its rejects."""
    file = one_file(path).replace("'", "''")
    quote = '"' if delimiter == "," else ""
    return (
        f"read_csv('{file}', delim = '{delimiter}', header = {bool(quote)}, auto_detect = false,"
        f" quote = '{quote}', escape = '{quote}', null_padding = {not quote}, store_rejects = true,"
        " rejects_limit = 1000, hive_partitioning = false,"
        f" compression = '{is_packed(path)}', columns = {dict(columns)})"
    )


def reduced(
    source: Source, columns: Mapping[str, str], query: str, delimiter: str = ",", users: str = "null"
) -> list[Report]:
    """A report of the work of a file: CSV with a heading, or columns without one and blanks between.

    columns: types by name. query: selects from `raw`, which is the file: end_us (of the epoch), us (latency),
    client, state (done, failed, or of _LEFT_OUT; NULL: not understood). users: its column of the
    clients at that time.
    Raises InputError for what DuckDB cannot read.
    """
    report = Report(source.place())
    with _readable(source) as path, source.deadline.query(source.path) as connection:
        connection.execute("set preserve_insertion_order = false")
        # by second and by client apart: together they would make a group of nearly every row
        connection.execute(
            f"create temp table counted as with raw as (from {_lines_of(path, columns, delimiter)}),"
            f" events as ({query}), cut"
            f" as (select end_us // 1000000 as second, client, state, us, end_us, {users} as users,"
            f" if(state = 'done', (us >> {_SHIFT}) << {_SHIFT}, null) as slot_us from events)"
            " select second, client, state, slot_us as us, count(*) as n, sum(us) as total_us,"
            " min(end_us - coalesce(us, 0)) as first_us, max(end_us) as last_us, max(users) as users,"
            " grouping(client) = 1 as of_second"
            " from cut group by grouping sets ((second, state), (client, state, slot_us))"
        )
        _seconds(source, report, connection)
        _rejected(source, connection)
        _latency(report, connection)
        _clients(report, connection)
    return [report]


@contextmanager
def _readable(source: Source) -> Generator[Path]:
    """The file itself; a copy of its lines if it is a section, or cut off, which DuckDB refuses."""
    if source.inner is None and not is_cut_off(source.path, source.deadline):
        yield source.path
        return
    with NamedTemporaryFile("w", prefix="steelyard-import-", suffix=".txt", encoding="utf-8") as copy:
        copy.writelines(f"{text}\n" for _, text in source.lines())
        copy.flush()
        yield Path(copy.name)


def asked(source: Source, columns: Mapping[str, str], query: str, delim: str = " ") -> list[tuple[Any, ...]]:
    """The rows that a query selects from `raw`, which is the file. Raises InputError."""
    with _readable(source) as path, source.deadline.query(source.path) as connection:
        connection.execute(f"create temp view raw as from {_lines_of(path, columns, delim)}")
        return connection.execute(query).fetchall()


def _seconds(source: Source, report: Report, connection: duckdb.DuckDBPyConnection) -> None:
    states = connection.execute("select state, sum(n)::bigint from counted where of_second group by state")
    numbers = dict(states.fetchall())
    for _ in range(numbers.get(None, 0)):
        source.skip(0, "a line with too few columns, or cells that are no numbers")
    for state, text in _LEFT_OUT.items():
        if state in numbers:
            report.notice(state, f"{numbers[state]:,} {text}, and are not counted")
    known = "from counted where of_second and state <> 'sum'"
    ((first_us, last_us),) = connection.execute(f"select min(first_us), max(last_us) {known}").fetchall()
    if first_us is None:
        return
    report.began = datetime.fromtimestamp(first_us / 1e6, UTC)
    report.seconds = max((last_us - first_us) / 1e6, 1e-6)
    seconds = connection.execute(
        f"select second - {first_us} // 1000000, {_DONE}, {_FAILED} {known} group by second order by second"
    )
    by_second = tuple(seconds.fetchall())
    report.work = Work(numbers.get("done", 0), numbers.get("failed", 0), by_second, detail=3)
    if (pause_s := max((b[0] - a[0] for a, b in pairwise(by_second)), default=0)) > _PAUSE_S:
        text = f"no transaction ended in {pause_s:,} s, as between two runs: that time counts"
        report.notice("intervals-missing", text)


def _rejected(source: Source, connection: duckdb.DuckDBPyConnection) -> None:
    heading = source.head().partition("\n")[0].strip()
    with suppress(duckdb.Error):
        query = "select line, any_value(csv_line) from reject_errors group by line order by line"
        for line, text in connection.execute(query).fetchall():
            if str(text).strip() == heading:
                raise several_runs(source, int(line))
            source.skip(int(line), str(text or ""))


def _latency(report: Report, connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute(
        "select us * 1000, sum(n)::bigint from counted where not of_second and us is not null"
        " group by us order by us"
    ).fetchall()
    if rows:
        total = sum(number for _, number in rows)
        report.row("latency", statement="transaction", count=total, histogram=histogram_of(rows))


def _clients(report: Report, connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute(
        "with clients as (from counted where not of_second and client is not null and state <> 'sum'),"
        " done as (select client, us, sum(n) as n from clients where state = 'done' group by all),"
        " ranked as (select *, sum(n) over (partition by client order by us) as upto,"
        " sum(n) over (partition by client) as whole from done),"
        " p99 as (select client, min(us) as us from ranked where upto >= 0.99 * whole group by client)"
        f" select {_DONE}, {_FAILED},"
        " 1e3 * sum(total_us) filter (state = 'done') / sum(n) filter (state = 'done'),"
        " 1e3 * any_value(p99.us) from clients left join p99 using (client)"
        f" group by client order by client limit {_CLIENTS_MAX}"
    ).fetchall()
    ((users, at_once),) = connection.execute(
        "with clients as (select min(first_us) as began, max(last_us) as ended from counted"
        " where not of_second and state <> 'sum' group by client),"
        " steps as (select began as us, 1 as step from clients union all select ended, -1 from clients)"
        " select (select max(users) from counted), max(n)"
        " from (select sum(step) over (order by us, step) as n from steps)"
    ).fetchall()
    report.clients = max(users, at_once) if users else len(rows) or None
    for i, (done, failed, mean, p99) in enumerate(rows):
        if mean is not None:
            report.row("clients", client=i, transactions=done, errors=failed, mean_ns=mean, p99_ns=p99)
