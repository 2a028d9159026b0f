"""What must hold in the data of a workload, and how much a run added to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steelyard.host.processes.limits import within
from steelyard.lab.engines.registry import LoadFailed
from steelyard.run_tables.rows import Columns, Rows
from steelyard.study.study import Study
from steelyard.subjects import Load
from steelyard.workloads import Condition, Work


def refuse_inconsistent(study: Study, work: Work, load: Load, loaded: bool = False) -> None:
    """Raises LoadFailed with the conditions that the data violate, after a run or as loaded."""
    conditions = [one for one in work.conditions if one.after_runs or loaded]
    if found := "; ".join(_violations(study, conditions, load)):
        raise LoadFailed(f"the data are inconsistent {'as loaded' if loaded else 'after the run'}: {found}")


def growth_samples(study: Study, work: Work, load: Load, t_ns: int) -> Columns:
    """Rows of the tables that runs add to, at the end of a run and as loaded."""
    samples = Rows("samples")
    for table, loaded in work.grows.items():
        rows = _number(study, load, f"select count(*) from {table}")
        for metric, value in (("rows", rows), ("rows_loaded", loaded)):
            samples.add(t_ns=t_ns, monitor="data", entity=table, metric=metric, value=float(value))
    return samples.columns()


def _violations(study: Study, conditions: Iterable[Condition], load: Load) -> Iterator[str]:
    for condition in conditions:
        if count := _number(study, load, condition.sql):
            yield f"{condition.name} is violated {count:,} time{'s' * (count != 1)}"


def _number(study: Study, load: Load, sql: str) -> int:
    server = load.server
    if server is None or server.number is None:
        raise LoadFailed("the data cannot be read: this subject has no connection for it")
    ask = server.number
    return within(study.plan.set_up_limit_s, "reading the data", lambda: ask(sql))
