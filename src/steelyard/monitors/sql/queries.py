"""The queries of a study's monitors by SQL: those of its file, and the sets in the folder `sets`."""

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

from steelyard.declared_metrics import Cost, DeclaredMetric
from steelyard.errors import InputError, nearest
from steelyard.monitors import MONITORS, declared
from steelyard.study.monitors import SqlMonitor
from steelyard.study.study import Study

NOT_VERIFIED = "not verified against a live server"
# counters that the table `latches` has, where rows are latches
_LATCH_COLUMNS = ("gets", "misses", "spin_gets", "sleeps", "wait_ns", "get_ns")
_TOTAL, _LIMIT = "_total", "_limit"
# what a unit is called in the name of a cost
_COST_UNITS = {"ns": "_us", "us": "_us", "ms": "_us", "s": "_us", "bytes": "_bytes"}
# of names in the samples that are no monitors
_RESERVED = {"monitors", "engine", "data", "inspect"}
_PAGE = "the page Monitor sets of the reference shows the SQL of each"


class Query(SqlMonitor):
    """A query ready to run: the keys of a study's monitor, and what a set says of itself.

    shipped_as: name of the set; '': the study's own query. verified: the server on which a test compares its
    counts with those of the server's own monitor; '': none.
    """

    shipped_as: str = ""
    title: str = ""
    manual: str = ""
    """page of the server's manual that names the columns"""
    needs: str = ""
    """privileges and settings of the server"""
    verified: str = ""
    meanings: dict[str, str] = {}
    """by column"""

    @property
    def mark(self) -> str:
        """What to know before its figures are used; '': nothing."""
        return NOT_VERIFIED if self.shipped_as and not self.verified else ""


@cache
def shipped() -> dict[str, Query]:
    """Our sets by name."""
    folder = Path(__file__).with_name("sets")
    return {
        file.stem: Query.model_validate({**tomllib.loads(file.read_text()), "shipped_as": file.stem})
        for file in sorted(folder.glob("*.toml"))
    }


def queries_of(study: Study) -> dict[str, Query]:
    """By monitor, sets resolved. Raises InputError for an unknown set and for a name that is taken."""
    found: dict[str, Query] = {}
    for name, given in study.sql_monitors.items():
        if name in MONITORS or name in _RESERVED:
            raise InputError(f'"{name}" is a name of steelyard\'s own', "choose another", ("monitors", name))
        if given.set and given.set not in shipped():
            text = f'no set "{given.set}"{nearest(given.set, shipped())}'
            raise InputError(text, _PAGE, ("monitors", name, "set"))
        keys = given.model_dump(exclude_unset=True, exclude={"set"})
        base = shipped()[given.set].model_dump(exclude_unset=True) if given.set else {}
        found[name] = Query.model_validate({**base, **keys, "shipped_as": given.set})
    return found


def declared_of(study: Study) -> dict[str, tuple[DeclaredMetric, ...]]:
    """The metrics of every monitor that a study may use, by monitor."""
    own = {name: metrics_of(name, query) for name, query in queries_of(study).items()}
    return {**{name: declared(name).metrics for name in MONITORS}, **own}


def metrics_of(name: str, query: Query) -> tuple[DeclaredMetric, ...]:
    """The metrics of one query. Without `by`, counters are costs per transaction, and gauges have a chart."""
    counters = [_counter(name, query, column) for column in query.counters]
    gauges = [_gauge(name, query, column) for column in query.gauges if not column.endswith(_LIMIT)]
    return (*counters, *gauges)


def metric_name(query: Query, column: str) -> str:
    """A column's name in the samples: counters end in `_total`."""
    return column if column in query.gauges or column.endswith(_TOTAL) else column + _TOTAL


def _counter(name: str, query: Query, column: str) -> DeclaredMetric:
    metric = DeclaredMetric(metric_name(query, column), "*" if query.by else name, _meaning(query, column))
    if query.by:
        return replace(metric, latch=column if query.latches and column in _LATCH_COLUMNS else "")
    words = column.removesuffix(_TOTAL)
    what = words.removesuffix(f"_{metric.unit}") if metric.unit else words
    cost = f"{name}_{what}{_COST_UNITS.get(metric.unit, '')}_per_txn".replace("-", "_")
    title = f"{what.replace('_', ' ')} ({name})"
    return replace(metric, costs=(Cost(cost, title, "events", better="neither"),))


def _gauge(name: str, query: Query, column: str) -> DeclaredMetric:
    limit = column + _LIMIT in query.gauges
    entity, chart = ("*", "") if query.by else (name, name)
    return DeclaredMetric(column, entity, _meaning(query, column), chart=chart, limit=limit, fills=limit)


def _meaning(query: Query, column: str) -> str:
    text = query.meanings.get(column) or f"Column {column} of the query"
    return f"{text} ({query.mark})" if query.mark else text
