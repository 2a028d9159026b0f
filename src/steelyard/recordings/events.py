"""Logs with a row per transaction, reduced by DuckDB in little memory: seconds, latency, clients."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Event, Thread

import duckdb

from steelyard.recordings.histograms import encoded
from steelyard.recordings.packed import is_cut_off, is_packed
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source, several_runs, share_read

Relation = Callable[[Path], str]
_TICK_S = 0.5
_CLIENTS_MAX = 100_000
# of a state: why its rows do not count
_LEFT_OUT = {"skipped": "transactions were skipped", "sum": "rows are sums of other rows"}
# latencies are grouped by their 11 leading bits, as histograms of three digits do
_SHIFT = "greatest(0, floor(log2(greatest(us, 1)))::bigint - 10)"


def lines_of(path: Path, delimiter: str, columns: Mapping[str, str], header: bool, quote: str = "") -> str:
    """A table function of DuckDB that reads a text file; lines that do not fit go to its rejects."""
    names = ", ".join(f"'{name}': '{type_}'" for name, type_ in columns.items())
    packed = is_packed(path)
    file = str(path).replace("'", "''")
    return (
        f"read_csv('{file}', delim = '{delimiter}', header = {header}, auto_detect = false,"
        f" quote = '{quote}', escape = '{quote}', null_padding = {not quote}, store_rejects = true,"
        " rejects_limit = 1000,"
        f" compression = '{packed}', columns = {{{names}}})"
    )


def reduced(source: Source, report: Report, relation: Relation, query: str) -> None:
    """Fills a report with the work of a file.

    relation: table function for a path. query: selects from `raw`, which is the relation: end_us (of the
    epoch), us (latency), client, state (done, failed, or of _LEFT_OUT; NULL: not understood).
    Raises InputError for what DuckDB cannot read.
    """
    with readable(source) as path, source.deadline.query(source.path) as connection:
        _counted(source, report, connection, relation(path), query)


@contextmanager
def readable(source: Source) -> Generator[Path]:
    """The file itself; a copy of its lines if it is a section, or cut off, which DuckDB refuses."""
    if source.inner is None and not is_cut_off(source.path, source.deadline):
        yield source.path
        return
    with NamedTemporaryFile("w", prefix="steelyard-import-", suffix=".txt", encoding="utf-8") as copy:
        copy.writelines(f"{text}\n" for _, text in source.lines())
        copy.flush()
        yield Path(copy.name)


def _counted(
    source: Source, report: Report, connection: duckdb.DuckDBPyConnection, relation: str, query: str
) -> None:
    connection.execute("set preserve_insertion_order = false")
    # by second and by client apart: together they would make a group of nearly every row
    with _watched(source):
        connection.execute(
            f"create temp table counted as with raw as (from {relation}), events as ({query}), cut"
            " as (select end_us // 1000000 as second, client, state, us, end_us,"
            f" if(state = 'done', (us >> {_SHIFT}) << {_SHIFT}, null) as slot_us from events)"
            " select second, client, state, slot_us as us, count(*) as n, sum(us) as total_us,"
            " min(end_us - coalesce(us, 0)) as first_us, max(end_us) as last_us,"
            " grouping(client) = 1 as of_second"
            " from cut group by grouping sets ((second, state), (client, state, slot_us))"
        )
    _seconds(source, report, connection)
    _rejected(source, connection)
    _latency(report, connection)
    _clients(report, connection)


def mean_and_largest(
    source: Source, relation: Relation, value: str, where: str
) -> tuple[float | None, float | None]:
    """Of a value, an SQL expression, over the rows for which a condition holds; None where there are none."""
    with readable(source) as path, source.deadline.query(source.path) as connection:
        query = f"select avg({value}), max({value}) from {relation(path)} where {where}"
        return connection.execute(query).fetchone() or (None, None)


def again(source: Source, relation: Relation, columns: str, where: str) -> int | None:
    """The line, about, from which values of columns come again; None: they do not."""
    query = f"select row_number() over () as line, {columns} from {{}}"
    with readable(source) as path, source.deadline.query(source.path) as connection:
        found = connection.execute(
            f"select max(line) from ({query.format(relation(path))}) where {where}"
            f" group by {columns} having count(*) > 1 order by 1 limit 1"
        ).fetchone()
    return int(found[0]) if found else None


@contextmanager
def _watched(source: Source) -> Generator[None]:
    """Reports the progress of a query, which occupies this thread, from another one."""
    done, share = Event(), share_read(source.path)

    def watch() -> None:
        while source.progress is not None and not done.wait(_TICK_S):
            source.progress(share())

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        if source.progress is not None:
            source.progress(share())


def _seconds(source: Source, report: Report, connection: duckdb.DuckDBPyConnection) -> None:
    """Work by second, and the length."""
    states = ("done", "failed", *_LEFT_OUT)
    numbers = ", ".join(f"coalesce(sum(n) filter (state = '{state}'), 0)::bigint" for state in states)
    rows = connection.execute(
        "select second, min(first_us) filter (state <> 'sum'), max(last_us) filter (state <> 'sum'),"
        f" coalesce(sum(n) filter (state is null), 0)::bigint, {numbers}"
        " from counted where of_second group by second order by second"
    ).fetchall()
    for _ in range(sum(lost for _, _, _, lost, *_ in rows)):
        source.skip(0, "a line with too few columns, or cells that are no numbers")
    known = [row for row in rows if row[1] is not None]
    if not known:
        return
    first_us, last_us = min(row[1] for row in known), max(row[2] for row in known)
    report.began = datetime.fromtimestamp(first_us / 1e6, UTC)
    report.seconds = max((last_us - first_us) / 1e6, 1e-6)
    start = first_us // 1_000_000
    by_second = tuple((second - start, done, failed) for second, _, _, _, done, failed, *_ in known)
    report.work = Work(sum(d for _, d, _ in by_second), sum(f for _, _, f in by_second), by_second, detail=3)
    for i, (state, text) in enumerate(_LEFT_OUT.items(), start=6):
        if number := sum(row[i] for row in rows):
            report.notices.append((state, f"{number:,} {text}, and are not counted"))


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
        report.row("latency", statement="transaction", count=total, histogram=encoded(rows))


def _clients(report: Report, connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute(
        "with clients as (from counted where not of_second and client is not null and state <> 'sum'),"
        " done as (select client, us, sum(n) as n from clients where state = 'done' group by all),"
        " ranked as (select *, sum(n) over (partition by client order by us) as upto,"
        " sum(n) over (partition by client) as whole from done),"
        " p99 as (select client, min(us) as us from ranked where upto >= 0.99 * whole group by client)"
        " select coalesce(sum(n) filter (state = 'done'), 0)::bigint,"
        " coalesce(sum(n) filter (state = 'failed'), 0)::bigint,"
        " 1e3 * sum(total_us) filter (state = 'done') / sum(n) filter (state = 'done'),"
        " 1e3 * any_value(p99.us) from clients left join p99 using (client)"
        f" group by client order by client limit {_CLIENTS_MAX}"
    ).fetchall()
    report.clients = len(rows) or None
    for i, (done, failed, mean, p99) in enumerate(rows):
        if mean is not None:
            report.row("clients", client=i, transactions=done, errors=failed, mean_ns=mean, p99_ns=p99)
