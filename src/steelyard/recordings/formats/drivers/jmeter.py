"""JMeter: JTL as CSV. A row per sample; its columns are configurable, and are read by name."""

from steelyard.recordings.events import reduced
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

_NEEDED = ("timeStamp", "elapsed")
_CHECKS = {"success": " and lower(success) in ('true', 'false')", "SampleCount": " and \"SampleCount\" = '1'"}

sniff = has(*(rf"\A(?:.*,)?{name}\b" for name in (*_NEEDED, "(?:label|success)")))


def read(source: Source) -> list[Report]:
    """One report; timeStamp is the start of a sample unless sampleresult.timestamp.start says otherwise."""
    names = source.head().partition("\n")[0].strip().split(",")
    columns = {name: "BIGINT" if name in _NEEDED else "VARCHAR" for name in names}
    client = 'hash("threadName")' if "threadName" in names else "null"
    good = "lower(success) = 'true'" if "success" in names else "true"
    # of a transaction controller; its parts have rows of their own
    begins = "'Number of samples in transaction%'"
    of_parts = f'"responseMessage" like {begins}' if "responseMessage" in names else "false"
    # a row that was cut off, or lost a cell, has no last column; one of several samples tells none of them
    whole = f'"{names[-1]}" is not null'
    for name, check in _CHECKS.items():
        whole += check * (name in names)
    events = f"""
        select ("timeStamp" + elapsed) * 1000 as end_us, elapsed * 1000 as us, {client} as client,
            case when "timeStamp" is null or elapsed is null or elapsed < 0 or "timeStamp" < 0
                or not ({whole}) then null
                when {of_parts} then 'sum' when {good} then 'done' else 'failed' end as state
        from raw
    """
    return reduced(source, columns, events)
