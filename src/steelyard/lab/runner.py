"""Runs a study block by block, and repeats a block with a void run.

The lab stores nothing: the caller writes the runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from steelyard.host.cpus.scheduling import NotTaken
from steelyard.lab.alone import run_alone
from steelyard.lab.finished_run import Run
from steelyard.lab.laboratory import Laboratory
from steelyard.lab.observe.disturbance import disturbance_of
from steelyard.lab.turns.block import runs_in_turns
from steelyard.study.host_settings import cpus_by_role, host_settings
from steelyard.study.plan import Slot


class StudyFailed(Exception):
    """The study cannot continue; finished runs are kept."""


def block(
    laboratory: Laboratory,
    slots: Sequence[Slot],
    attempt: int = 1,
    done: Container[str] = (),
    void: int = 0,
    redo: int = 0,
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
        for run in _attempt(laboratory, slots, number, kept, redo):
            yield run
            label = run.slot.option.label
            if run.status == "void" and run.tables:
                raise StudyFailed(f"option {label}: {run.cause}")
            if run.status == "void" and void:
                raise StudyFailed(f"block {run.slot.block} failed twice: {label}: {run.cause}")
            if run.status == "disturbed" and not redo:
                raise StudyFailed(f"stopped (plan.disturbed): {run.cause}")
            if run.status == "disturbed" and laboratory.host.boots:
                return
            if run.status == "void":
                void += 1
                break
        else:
            return


def _attempt(
    laboratory: Laboratory, slots: Sequence[Slot], number: int, done: Container[str], redo: int
) -> Iterator[Run]:
    """The runs of one attempt; in turns all of them at its end, or the one that failed."""
    if laboratory.in_turns:
        runs = runs_in_turns(laboratory, slots, number)
    else:
        runs = (run_alone(laboratory, slot, number) for slot in slots if slot.option.label not in done)
    for run in runs:
        yield _judged(laboratory, run, redo)


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
