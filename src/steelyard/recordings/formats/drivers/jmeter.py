"""JMeter: JTL as CSV. A row per sample; its columns are configurable, and are read by name."""

from steelyard.recordings.events import reduced
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

_NEEDED = ("timeStamp", "elapsed")
# A thread takes one sample at a time. What lies within another row is a part of that transaction, whose row
# is a sum; but `X-0`, `X-1` are redirects and files that the request X has counted. Times differ by a few ms
_EVENTS = """
    with timed as (
        select *, "timeStamp" as first_ms, "timeStamp" + elapsed as last_ms, {thread} as thread,
            coalesce({transaction}, false) as summed, {label} as name,
            regexp_replace(name, '-[0-9]+$', '') as request
        from raw
    ), nested as (
        select *, lead(first_ms) over w < last_ms and lead(last_ms) over w > first_ms as meets,
            meets and lead(name) over w <> name and lead(request) over w = name as has_files,
            meets and lead(last_ms) over w <= last_ms + 2 * summed::int
                or summed and lag(last_ms) over w > first_ms + 2 as holds
        from timed window w as (partition by thread order by first_ms, last_ms desc, summed desc)
    ), parted as (
        select *, last_value(if(has_files, {{'name': name, 'last_ms': last_ms}}, null) ignore nulls)
            over (partition by thread order by first_ms, last_ms desc, summed desc
                rows between unbounded preceding and 1 preceding) as whole
        from nested
    )
    select last_ms * 1000 as end_us, elapsed * 1000 as us, hash(thread) as client, {users} as users,
        case when "timeStamp" is null or elapsed is null or elapsed < 0 or "timeStamp" < 0
            or not ({whole}) then null
            when if(thread is null, summed, coalesce(holds and not has_files, false)
                or coalesce(request <> name and request = whole.name and first_ms < whole.last_ms, false))
                then 'sum'
            when {good} then 'done' else 'failed' end as state
    from parted
"""

sniff = has(*(rf"\A(?:.*,)?{name}\b" for name in (*_NEEDED, "(?:label|success)")))


def read(source: Source) -> list[Report]:
    """One report; timeStamp is the start of a sample unless sampleresult.timestamp.start says otherwise."""
    names = source.head().partition("\n")[0].strip().split(",")
    columns = {name: "BIGINT" if name in _NEEDED else "VARCHAR" for name in names}

    def of(name: str, sql: str, otherwise: str = "null") -> str:
        return sql if name in names else otherwise

    events = _EVENTS.format(
        thread=of("threadName", '"threadName"'),
        label=of("label", "label", "''"),
        transaction=of("responseMessage", "\"responseMessage\" like 'Number of samples in transaction%'"),
        # of several hosts, which stand before the names of their threads, each counts its own
        users=of(
            "allThreads", "if(thread similar to '\\S+-.+ \\d+-\\d+', null, try_cast(\"allThreads\" as int))"
        ),
        # a row that was cut off, or lost a cell, has no last one; one of several samples tells none of them
        whole=f'"{names[-1]}" is not null'
        + of("success", " and lower(success) in ('true', 'false')", "")
        + of("SampleCount", " and \"SampleCount\" = '1'", ""),
        good=of("success", "lower(success) = 'true'", "true"),
    )
    return reduced(source, columns, events, users="users")
