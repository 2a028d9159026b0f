"""Ties the parts together: runs a study into a bundle, and judges a bundle.

A KeyboardInterrupt ends the run in progress (host/signals.py); however the lab ends, finished runs are in
the bundle and the guard stops the servers.
"""

import os
import shutil
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from steelyard.bundle.reader import Bundle
from steelyard.bundle.writer import BundleWriter
from steelyard.declared_metrics import as_json
from steelyard.errors import InputError
from steelyard.host.processes.signals import Interrupts
from steelyard.lab import reboots
from steelyard.lab.engines.result import Tables, noticed
from steelyard.lab.laboratory import Progress
from steelyard.lab.machine.host_settings import BootNeeded, boot_facts
from steelyard.lab.rehearsal.findings import Findings
from steelyard.lab.run_parts import Run
from steelyard.lab.runner import StudyFailed
from steelyard.monitors.sql.queries import declared_of
from steelyard.run_tables.rows import Columns
from steelyard.study.load_study import located
from steelyard.study.plan import baseline
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workflow.runs import (
    Attempt,
    attempts_of,
    machine_facts,
    refuse_changed,
    refuse_other,
    refuse_other_server,
    runs_of,
)

_OF_RUN = "attempt status disturbed_share cause started_at seconds"


class Watcher(Progress, Protocol):
    """Shows the progress of a study; called when a run is written."""

    def noted(self, lines: Iterable[tuple[str, str]]) -> None:
        """Further lines of the plan: a name and a text each."""

    def run_ended(self, label: str, block: int, tps: float, status: str) -> None:
        """The run is on disk; tps over its measure phases."""


def start(prepared: PreparedStudy, path: Path, progress: Watcher, interrupts: Interrupts) -> None:
    """Runs a study into a new bundle; without any run, it is removed. Raises InputError, StudyFailed."""
    made = not os.path.exists(path)  # noqa: PTH110  Path.exists raises for a name that is too long
    writer = BundleWriter.create(
        path,
        prepared.text,
        prepared.options,
        baseline(prepared.study, prepared.options),
        {
            **machine_facts(prepared),
            "metrics": {name: as_json(metrics) for name, metrics in declared_of(prepared.study).items()},
            "study": {"folder": str(prepared.folder.absolute())},
        },
        prepared.files,
    )
    try:
        with reboots.unit_while_paused(prepared.study.reboots):
            _run(prepared, writer, progress, interrupts)
    except (InputError, StudyFailed):
        if writer.next_run() == 1:
            _remove(path, made)
        raise


def _remove(bundle: Path, made: bool) -> None:
    """Removes a bundle without runs; the folder itself only if this study made it."""
    for entry in bundle.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    if made:
        bundle.rmdir()


def resume(path: Path, prepared: PreparedStudy, progress: Watcher, interrupts: Interrupts) -> None:
    """Continues a bundle: complete blocks are kept, others run again.

    Raises InputError, without changing the bundle, when study, machine or server differ, or it is in use.
    """
    bundle = Bundle(path)
    # first: a study that still runs is refused here, and must keep its systemd unit
    writer = BundleWriter(path)
    with reboots.unit_while_paused(prepared.study.reboots):
        refuse_changed(bundle, prepared)
        if any(attempt.number for _, attempt in attempts_of(bundle, prepared)):
            now = machine_facts(prepared)
            then = bundle.environment
            if prepared.boots:
                # kernels may differ between boots, but not between runs of one boot: see boot_facts
                then = {**then, "kernel": now["kernel"], "mitigations": now["mitigations"]}
            prepared = _in_the_same_order(bundle, prepared)
            # facts of the server are compared when it has started
            refuse_other(path, then, {**then, **now})
        _run(prepared, writer, progress, interrupts)


def _in_the_same_order(bundle: Bundle, prepared: PreparedStudy) -> PreparedStudy:
    """In the order of the finished runs. Raises InputError where they took turns and new ones cannot."""
    (runs,) = bundle.columns("select count(*) as n from runs where status = 'done'")["n"]
    (turns,) = bundle.columns("select count(*) as n from turns")["n"]
    why = prepared.one_after_another
    if turns and why:
        raise InputError(
            f"{bundle.path}: the options of the finished runs took turns and cannot now: {why};"
            " both are not comparable",
            "resume as the machine was then, or start a new bundle with `steelyard run`",
        )
    alone = runs and not turns and not why
    return replace(prepared, one_after_another="the finished runs took no turns") if alone else prepared


def _numbered(bundle: Bundle) -> int:
    """How many numbers of each sequence the runs of a bundle have drawn, at most."""
    with suppress(InputError):
        query = "select coalesce(sum(value), 0) as n from samples where metric = 'numbered'"
        return int(bundle.columns(query)["n"][0])
    return 0


def is_finished(path: Path, prepared: PreparedStudy) -> bool:
    """Whether the bundle has all that the plan wants. Raises InputError when the study has changed."""
    bundle = Bundle(path)
    refuse_changed(bundle, prepared)
    whole = [attempt.number == 0 for _, attempt in attempts_of(bundle, prepared)]
    return all(whole) or _narrow_enough(prepared, path, sum(whole))


def _run(prepared: PreparedStudy, writer: BundleWriter, progress: Watcher, interrupts: Interrupts) -> None:
    """Runs until another boot is needed. Raises Paused then."""
    how = prepared.study.reboots
    if prepared.boots:
        reboots.check_stop(writer.path)
        if facts := boot_facts(prepared.options, Bundle(writer.path).environment.get("boots", [])):
            writer.add_to_environment("boots", facts)
    try:
        _run_blocks(prepared, writer, progress, interrupts)
    except BootNeeded as need:
        earlier = Bundle(writer.path).environment.get("reboots", [])
        writer.add_to_environment("reboots", reboots.next_boot(how, writer.path, need, earlier))
        raise reboots.pursue(how, writer.path, need) from None


def _run_blocks(
    prepared: PreparedStudy, writer: BundleWriter, progress: Watcher, interrupts: Interrupts
) -> None:
    bundle = Bundle(writer.path)
    attempts = attempts_of(bundle, prepared)
    tried: dict[str, Columns] = {}
    programs = prepared.programs()

    def rehearsed(found: Findings) -> None:
        tried.update(found.tables)
        progress.noted(found.lines())

    with (
        located(prepared.text, prepared.origin),
        runs_of(
            prepared, progress, partial(refuse_other_server, writer.path), rehearsed, _numbered(bundle)
        ) as runs,
    ):
        redo = _redos_left(prepared, bundle)
        # its tables would stay in memory while runs are measured
        del bundle
        whole = sum(attempt.number == 0 for _, attempt in attempts)
        open_blocks = deque(one for one in attempts if one[1].number)
        while open_blocks:
            slots, attempt = open_blocks.popleft()
            if not attempt.done and _narrow_enough(prepared, writer.path, whole):
                return
            whole += 1
            disturbed = False
            for run in runs(slots, attempt, redo):
                with interrupts.held():
                    _keep(writer, run, prepared.refused, tried)
                    tried = {}
                    if programs:
                        # what a run has changed, the program itself writes
                        same = programs.items() & prepared.programs().items()
                        writer.add_to_environment("programs", dict(same))
                        programs = {}
                    progress.run_ended(run.slot.option.label, run.slot.block, run.tps, run.status)
                if run.status == "disturbed" and not disturbed:
                    # at the end of the study: what disturbed it may have ended by then
                    open_blocks.append((slots, Attempt(run.attempt + 1)))
                    redo, whole, disturbed = redo - 1, whole - 1, True


def _keep(writer: BundleWriter, run: Run, refused: Sequence[str], more: Tables) -> None:
    """more: further tables of the run."""
    number = writer.next_run()
    slot, own = run.slot, {name: [getattr(run, name)] for name in _OF_RUN.split()}
    head = {"option": [slot.option.label], "block": [slot.block], "slot": [slot.slot], **own}
    tables = noticed(run.tables, [("host-refused", text) for text in refused])
    # before the run: `resume` compares each run with the facts of its server
    if run.server_facts:
        writer.add_server(run.slot.option.label, run.server_facts)
    writer.write_run(number, slot.option.levels, {**tables, **more, "runs": head})
    if run.server_log:
        writer.write_log(number, run.server_log)


def _narrow_enough(prepared: PreparedStudy, path: Path, blocks: int) -> bool:
    """blocks: number of complete blocks so far."""
    stop = prepared.study.plan.stop
    if stop is None or blocks < stop.after_blocks:
        return False
    from steelyard.analysis.comparison.stopping import stopped

    return stopped(Bundle(path).evidence())


def _redos_left(prepared: PreparedStudy, bundle: Bundle) -> int:
    """How many disturbed blocks may still be run again, those before a resume counted."""
    attempts = "select count(distinct (block, attempt)) as n from runs where status = 'disturbed'"
    (done,) = bundle.columns(attempts)["n"]
    return max(0, prepared.redone_blocks_max - int(done))
