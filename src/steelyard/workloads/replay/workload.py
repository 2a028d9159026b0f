"""Captured traffic as a workload: a statement per class of the capture, whose events the engine reads."""

from pathlib import Path

from steelyard.study.workloads.replay import ReplayWorkload
from steelyard.study.workloads.statements import Statement
from steelyard.workloads import Work
from steelyard.workloads.replay.capture_file import CapturedClass, read_capture
from steelyard.workloads.sql import data_directory, data_file


def replay(workload: ReplayWorkload) -> Work:
    """The classes of the capture, and the data as they were when it began. Raises InputError."""
    header = read_capture(Path(workload.capture))
    left_out = [f"left out of the capture: {count:,} {what}" for what, count in header.left_out.items()]
    notes = [f"differs in a replay: {count:,} {what}" for what, count in header.notes.items()]
    return Work(
        # what was captured keeps to no rules for texts of a study
        {one.name: Statement.model_construct(sql=one.sql) for one in header.classes},
        captured={one.name: _takes(one) for one in header.classes},
        script=workload.schema_sql,
        script_file=workload.schema_file or "",
        data=data_file(workload),
        directory=data_directory(workload),
        database=workload.data_database,
        read_only=header.read_only,
        remarks=(*left_out, *notes),
    )


def _takes(one: CapturedClass) -> dict[str, str | int]:
    count = {"count": one.count} if one.takes in ("values", "text-values") else {}
    return {"takes": one.takes, **count}
