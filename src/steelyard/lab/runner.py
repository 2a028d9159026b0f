"""Runs a study block by block, repeats a block with a void run, and stores nothing: the caller does."""

import itertools
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from steelyard.host.cpus.scheduling import NotTaken
from steelyard.lab.alone import run_alone
from steelyard.lab.engines.result import Tables
from steelyard.lab.laboratory import Laboratory
from steelyard.lab.run_parts import Run
from steelyard.lab.turns.block import runs_in_turns
from steelyard.run_tables.disturbance import Disturbance, disturbance
from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import each
from steelyard.study.host_settings import cpus_by_role, host_settings
from steelyard.study.study import Slot

# of each measure phase, the growth per second of each counter that was read before its end and after its
# start: between two readings it grows evenly
_RATES = """
with step as (
    select monitor, entity, metric, t_ns, value - lag(value) over series as grown,
        lag(t_ns) over series as before_ns
    from samples where monitor in ('host', 'processes', 'disturbance') and ends_with(metric, '_total')
    window series as (partition by monitor, entity, metric order by t_ns)
), overlap as (
    select *, least(t_ns, end_ns) - greatest(before_ns, start_ns) as part_ns
    from step, phases where phase = 'measure' and before_ns is not null
)
select
    start_ns, end_ns,
    coalesce((select max(value) from samples where monitor = 'disturbance' and metric = 'studies'), 0)::int,
    (monitor, entity, metric) as key, 1e9 * sum(grown * part_ns / (t_ns - before_ns)) / sum(part_ns)
from overlap where part_ns > 0
group by all order by start_ns, end_ns
"""


class StudyFailed(Exception):
    """The study cannot continue; finished runs are kept."""


def block(
    laboratory: Laboratory,
    slots: Sequence[Slot],
    attempt: int,
    done: Container[str],
    void: int,
    redo: int,
) -> Iterator[Run]:
    """The runs of one block, which is repeated after a void run, once.

    A disturbed run does not end it, as a repetition may be disturbed more; but with several boots it does.
    attempt: number of the first attempt; done: options that it has already run; void: number of
    earlier attempts, 0 or 1, that ended with a void run; redo: how many blocks may be repeated as
    disturbed; without any, disturbed runs are kept. Raises StudyFailed after the second void run, and at
    once when no transaction of a run, or of a kind, succeeded: a repetition would fail too; BootNeeded.
    """
    for number in itertools.count(attempt):
        kept = done if number == attempt else ()
        if laboratory.in_turns:
            # all of them at the end, or the one that failed
            runs = runs_in_turns(laboratory, slots, number)
        else:
            runs = (run_alone(laboratory, slot, number) for slot in slots if slot.option.label not in kept)
        for one in runs:
            yield (run := _judged(laboratory, one, redo))
            label = run.slot.option.label
            if run.status == "void":
                if run.tables:
                    raise StudyFailed(f"option {label}: {run.cause}")
                if void:
                    raise StudyFailed(f"block {run.slot.block} failed twice: {label}: {run.cause}")
                void += 1
                break
            if run.status == "disturbed":
                if not redo:
                    raise StudyFailed(f"stopped (plan.disturbed): {run.cause}")
                if laboratory.host.boots:
                    return
        else:
            return


def _judged(laboratory: Laboratory, run: Run, redo: int) -> Run:
    """The run with what it lost; as `disturbed` where the study does not keep such runs."""
    # at an address the server's CPUs are its own choice
    if run.status != "done" or laboratory.study.subject.dsn:
        return run
    placement = laboratory.placement
    host = run.slot.option.host
    cpus = cpus_by_role(host, placement.server, placement.engine)
    quotas = {role: share.cpu_quota or math.inf for role, share in host_settings(host).shares.items()}
    try:
        found = disturbance_of(run.tables, cpus, quotas)
    except NotTaken as lost:
        return replace(run, status="void", cause=str(lost))
    if found is None:
        return run
    run = replace(run, disturbed_share=found.share)
    if not (redo or laboratory.study.plan.disturbed == "stop"):
        return run
    cause = found.sentence(laboratory.study.workload.WHO, f"under option {run.slot.option.label}")
    return replace(run, status="disturbed", cause=cause)


def disturbance_of(
    tables: Tables, cpus: Mapping[str, frozenset[int]], quotas: Mapping[str, float]
) -> Disturbance | None:
    """The worst of its measure phases; None where none was disturbed.

    cpus: those that each role may use; quotas: how many of them. Raises NotTaken where a role used more.
    """
    found: list[Disturbance] = []
    rows = each(asked(_RATES, tables))
    for (start_ns, end_ns, studies), growing in groupby(rows, key=lambda row: row[:3]):
        rates = {key: rate for *_, key, rate in growing}
        seconds = (end_ns - start_ns) / 1e9
        for role, quota in quotas.items():
            used = rates.get(("processes", role, "cpu_ns_total"), 0.0) / 1e9
            # a phase may hold what a period of 100 ms gives beyond its length, and readings take time
            if used > quota * (1.1 + 0.1 / seconds):
                raise NotTaken(f"{role}.cpu_quota = {quota:g} does not act: {used:.2f} CPUs were used")
        if one := disturbance(rates, seconds, cpus, studies):
            found.append(one)
    return max(found, key=lambda one: one.share, default=None)
