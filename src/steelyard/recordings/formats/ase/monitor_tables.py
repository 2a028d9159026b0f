"""ASE monitor tables (monStatementCache, monEngine, monSpinlockActivity ...), isql or CSV. Which table it is,
its columns say. Spinlocks become rows of `latches`: its integer Contention rounds to 0, so that 100 x Waits /
Grabs is computed from the counts. They count since the start: of two captures the difference counts.
"""

import re

from steelyard.recordings.cells import whole
from steelyard.recordings.lines import Found, Lines, NotMine, Now, known, rule
from steelyard.recordings.report import Report
from steelyard.recordings.tables import Cells, Row, cell, names_of_csv, ruled_rows

# known columns: by one of them a result is recognised
_KNOWING = """
    instanceid enginenumber spinlockname totalsizekb numsearches cacheid cachename waiteventid spid kpid dbid
"""
_KNOWN = {*_KNOWING.split()}
# what is read as a level; all other numbers count since the server started
_LEVEL = re.compile(
    r"(?!iosize|numreuse).*(?:kb|mb|size|percent|percentage|pct|persec|rate|ratio|active|free|pages|pools|statements|number"
    r"|connections|connected|touched|partitions|buffers|overhead|level|priority|status|used|usage|contention|hwm"
    r"|timeout|threshold|tasks|held|waiting|running|full|progress|affinitied|_limit)"
    r"|(?:max|min(?!or)|avg|longest|current|hkgcpending)\w*"
)
# columns that say of which thing a row is; so do all others that end in `id`
_NAMING = """
    spinlockname cachename iobuffersize enginenumber name logicalname iotype dbname objectname dbid objectid
    indexid partitionid moduleid allocatorid statisticid spid kpid waiteventid instanceid
    controllerid threadid memorypoolname devicenumber segmentnumber
"""
NAMES = _NAMING.split()
_OF_PROCESS = ("spid", "kpid", "waiteventid", "instanceid")
# but not of these, which take up one task after another
_WORKERS = {"spid", "enginenumber", "controllerid", "threadid"}
# what is used, and the columns that add up to what there is
_CAPTURES_MAX = 1_000_000
_LIMITS = {"usedsizekb": ("totalsizekb",), "numactive": ("numactive", "numfree")}
# as a list, whose heading has no ruler
_SPINLOCK = (
    r"\s*(?P<spinlockname>[^\s\d]\S*(?: \S+)*?)\s+(?P<grabs>\d+)\s+(?P<spins>\d+)"
    r"\s+(?P<waits>\d+)\s+(?P<contention>\d+)\s*"
)
_SPINLOCKS = r"SpinlockName\s*/\s*Grabs.*"


def sniff(head: str) -> bool:
    """Whether a ruled table or CSV has a column of the monitor tables, or spinlocks are listed."""
    if first := names_of_csv(head):
        # DbxTune's tables have the same columns, and its own times
        return len(first) > 2 and bool(first & _KNOWN) and "sessionsampletime" not in first
    tables = ruled_rows(enumerate(head.split("\n")))
    return any(row.cells.keys() & _KNOWN for row in tables) or bool(re.search(_SPINLOCKS, head))


def _row(now: Now, row: Row) -> None:
    """Rows of one thing in a later table are its next readings; in the same table they are refused."""
    cells = row.cells
    if "spinlockname" in cells:
        spins, name = whole(cells["spins"]), add_spinlock(now, row.table, cells)
        # several spinlocks may have one name
        now.counts[name, sum(latch == name for _, latch in now.latches) - 1] += spins
    else:
        _reading(now, row)
    if not all(cells.values()):
        # isql prints NULL, and pads a row: a cell without anything was cut off
        now.source.skip(row.line, row.text, in_part=True)
    now.texts.add(row, {c: cell(text) for c, text in cells.items() if c not in NAMES})


def _reading(now: Now, row: Row) -> None:
    """Raises KeyError, ValueError."""
    entity = " ".join(f"{name} {row.cells[name]}" for name in keys_of(row.cells))
    if f"{row.table} {entity}" in now.seen:
        raise ValueError(entity)
    add_numbers(now.report, now.numbers[entity], entity, row.cells)
    now.numbers[entity] += 1
    now.seen.add(f"{row.table} {entity}")


def keys_of(cells: Cells) -> list[str]:
    """Columns that identify a row: not instance 0, which is no cluster's; not an attribute of a process, as
    the event that it waits for.
    """
    ids = [column for column in cells if column.endswith("id") and not cells.keys() & _WORKERS]
    given = [name for name in dict.fromkeys([*NAMES, *ids]) if cell(cells.get(name, "")) is not None]
    keys = _OF_PROCESS if "spid" in cells and "objectid" not in cells else given
    told = {
        "instanceid": cells.get("instanceid") != "0",
        "waiteventid": "waits" in cells,
        "threadid": not cells.keys() & {"enginenumber", "controllerid"},
    }
    return [name for name in given if name in keys and told.get(name, True)] or given


def add_numbers(report: Report, at_s: float, entity: str, cells: Cells) -> None:
    """Adds readings of numbers that name no row, and limits of those that have one. Raises ValueError."""
    numbers = {
        c: found
        for c, text in cells.items()
        if c not in NAMES and not c.endswith("id") and isinstance(found := cell(text), float)
    }
    for used, parts in _LIMITS.items():
        if numbers.keys() >= {used, *parts}:
            numbers[f"{used}_limit"] = sum((numbers[part] for part in parts), 0.0)
    if not numbers:
        raise ValueError(entity)
    counts = [column for column in numbers if not _LEVEL.fullmatch(column)]
    # most of them with decimals, also of 0.0: they are computed, as shares of an interval
    end = "" if 2 * sum("." in cells[column] for column in counts) > len(counts) else "_total"
    report.samples.add_row(at_s, entity, {c + end * (c in counts): v for c, v in numbers.items()})


def add_spinlock(now: Now, capture: int, cells: Cells) -> str:
    """Adds counts of a spinlock, whose name it gives, to the capture's. Raises ValueError, KeyError."""
    name = cells["spinlockname" if "spinlockname" in cells else "spinname"]
    if (instance := cells.get("instanceid", "0")) != "0":
        name += f" of instance {instance}"
    counts = {"gets": whole(cells["grabs"]), "misses": whole(cells["waits"])}
    if not isinstance(cell(name), str) or min(counts.values()) < 0:
        raise ValueError(name)
    # a slot that comes again is of the next capture, as of a table that collects them
    slot_id = cells.get("spinlockslotid", cells.get("spinlockid"))
    slot = f"slot {capture} {name} {slot_id}"
    now.numbers[slot] += slot_id is not None
    row = now.latch(name, capture + _CAPTURES_MAX * int(now.numbers[slot]))
    for column, count in counts.items():
        row[column] = row.get(column, 0) + count
    return name


def _lists(now: Now, found: Found) -> None:
    now.numbers["lists"] -= 1


def _listed(now: Now, found: Found) -> None:
    if not (lists := int(now.numbers["lists"])):
        raise NotMine
    # numbers of lists are negative
    _row(now, Row(0, found[0], found.groupdict(), lists))


def _close(now: Now) -> None:
    for (name, at), spins in now.counts.items():
        now.report.sample(at, name, "spins_total", float(spins))
    now.report.differences("latches", "a monitor table")


read = Lines(
    (
        known(r"\s*(?:\(\d+ rows? affected\)|\(return status = 0\))"),
        rule(rf"\s*{_SPINLOCKS}", _lists),
        rule(_SPINLOCK, _listed),
    ),
    _close,
    table=_row,
)
