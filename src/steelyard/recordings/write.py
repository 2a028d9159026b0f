"""Writes a recording as a bundle."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from steelyard.bundle.writer import BundleWriter
from steelyard.errors import InputError
from steelyard.recordings import RecordedRun, Recording
from steelyard.run_tables.rows import Columns, Rows
from steelyard.study.load_study import plan_study
from steelyard.study.plan import baseline
from steelyard.study.study import Option, Study


def write_recording(recording: Recording, path: Path, origin: str) -> Study:
    """Writes a recording as a bundle; its study. origin: of the study, for messages. Raises InputError."""
    study, found = plan_study(recording.study_text, origin)
    by_label = _by_label(found, recording)
    writer = BundleWriter.create(
        path, recording.study_text, found, baseline(study, found), recording.environment, recording.files
    )
    slots: dict[int, int] = {}
    for number, run in enumerate(sorted(recording.runs, key=lambda run: run.block), start=1):
        slot = slots[run.block] = slots.get(run.block, 0) + 1
        option = by_label[run.option]
        try:
            writer.write_run(number, option.levels, {**run.tables, "runs": _run(option.label, slot, run)})
        except OSError as error:
            # without its last runs it would look whole
            shutil.rmtree(path, ignore_errors=True)
            raise InputError(str(error), "name another folder: -o FOLDER") from None
    return study


def _by_label(found: list[Option], recording: Recording) -> Mapping[str, Option]:
    labels = {option.label: option for option in found}
    if missing := sorted({run.option for run in recording.runs} - labels.keys()):
        raise InputError(f'option "{missing[0]}" is not one of the study: {", ".join(labels)}')
    return labels


def _run(label: str, slot: int, run: RecordedRun) -> Columns:
    row = Rows("runs")
    row.add(
        option=label,
        block=run.block,
        slot=slot,
        attempt=1,
        status="done",
        cause="",
        started_at=run.started_at,
        seconds=max(run.tables["phases"]["end_ns"]) / 1e9,
    )
    return row.columns()
