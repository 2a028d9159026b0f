"""JMeter: JTL as CSV. A row per sample; its columns are configurable, and are read by name."""

import re

from steelyard.errors import InputError
from steelyard.recordings.events import asked, reduced
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

_NEEDED = ("timeStamp", "elapsed")
# other tools write times in seconds, and fractions of milliseconds
_ROWS = """
    with timed as (
        select "timeStamp" * if("timeStamp" < 1e11, 1000, 1) as first_ms, first_ms + elapsed as last_ms,
            elapsed, {thread} as thread,
            {name} as name, regexp_replace(name, '-[0-9]+$', '') as request, {samples} as samples,
            {users} as users, coalesce({whole}, false) as whole, {good} as good
        from raw
    )
"""
# whether labels end as of redirects, parts of transactions have rows, a thread's samples exceed its time
_KINDS = """
    select coalesce(bool_or(name <> request), false), coalesce(sum(samples), 0) <= 2 * sum(n),
        coalesce(bool_or(thread <> '' and busy_ms > span_ms), false)
    from (
        select thread, name, request, sum(samples) as samples, count(*) filter (samples is null) as n,
            sum(elapsed - 1) as busy_ms, max(last_ms) - min(first_ms) as span_ms
        from timed group by thread, name, request
    )
"""
_EVENTS = """
    select (last_ms * 1000)::bigint as end_us, (elapsed * 1000)::bigint as us, hash(thread) as client, users,
        case when first_ms is null or elapsed is null or least(elapsed, first_ms) < 0 or not whole then null
            when within then 'sum' when good then 'done' else 'failed' end as state
    from {rows}
"""
# A thread takes one sample at a time: rows `X-0`, `X-1` that begin within a request X are redirects and files
# that it has counted, and without messages a row that holds another one is the sum of a transaction
_NESTED = """(
    select *, holds or coalesce(
        request <> name and request = outer_.name and first_ms < outer_.last_ms, false) as within
    from (
        select *, last_value(if(counted, {{'name': name, 'last_ms': last_ms}}, null) ignore nulls)
            over (partition by thread order by first_ms, last_ms desc
                rows between unbounded preceding and 1 preceding) as outer_
        from (
            select *, lead(first_ms) over w < last_ms and lead(last_ms) over w > first_ms as meets,
                coalesce(meets and lead(name) over w <> name and lead(request) over w = name, false)
                    as counted,
                {sums} or {by_place} and not counted
                    and coalesce(meets and lead(last_ms) over w <= last_ms, false) as holds
            from timed window w as (partition by thread order by first_ms, last_ms desc)
        )
    )
)"""
# whether a sample is done: the last of these columns that the file has decides
_DONE_SQL = {
    "responseCode": "regexp_full_match(\"responseCode\", '[123][0-9]*|0|OK')",
    "ErrorCount": "\"ErrorCount\" = '0'",
    "success": "lower(success) = 'true'",
}

sniff = has(*(rf'\A(?:.*,)?"?{name}\b' for name in (*_NEEDED, "(?:label|success)")))


def read(source: Source) -> list[Report]:
    """One report; timeStamp is the start of a sample unless sampleresult.timestamp.start says otherwise."""
    head = source.head()
    if re.search(r"^\d[.,]\d+E\+\d", head, re.MULTILINE):
        raise InputError(f"{source.path}: its times are rounded, as by a spreadsheet", "take JMeter's file")
    names = [name.strip('"') for name in head.partition("\n")[0].strip().split(",")]
    columns = {name: "DECIMAL(18, 3)" if name in _NEEDED else "VARCHAR" for name in names}

    def of(name: str, sql: str, otherwise: str = "null") -> str:
        return sql if name in names else otherwise

    good = "true"
    for name, sql in _DONE_SQL.items():
        good = of(name, sql, good)
    message = "regexp_extract(\"responseMessage\", '^Number of samples in transaction : ([0-9]+)', 1)"
    rows = _ROWS.format(
        thread=of("threadName", '"threadName"'),
        name=of("label", "label", "''"),
        samples=of("responseMessage", f"try_cast({message} as int)"),
        # of several hosts each counts its own
        users=of("allThreads", 'try_cast("allThreads" as int)'),
        # a row that was cut off, or lost a cell, has no last one; one of several samples tells none of them
        whole=f'"{names[-1]}" is not null'
        + of("success", " and lower(success) in ('true', 'false')", "")
        + of("SampleCount", " and \"SampleCount\" = '1'", ""),
        good=good,
    )
    ((suffixes, parts_are_listed, twice),) = asked(source, columns, rows + _KINDS, ",")
    # threads of several engines may have one name: then place and time tell no parts
    by_place = "responseMessage" not in names and not twice
    sums = "samples is not null" if parts_are_listed else "false"
    nested = f"(select *, {sums} as within from timed)"
    if "threadName" in names and (suffixes or by_place):
        nested = _NESTED.format(sums=sums, by_place=by_place)
    found = reduced(source, columns, rows + _EVENTS.format(rows=nested), users="users")
    if not {"success", "ErrorCount"} & {*names}:
        said = (
            "response codes alone tell" if "responseCode" in names else "all count as done: no column tells"
        )
        found[0].notice("source-warns", f"{said} which samples failed")
    if twice:
        found[0].notice("threads-joined", "a thread has two samples at once: there may be more clients")
    return found
