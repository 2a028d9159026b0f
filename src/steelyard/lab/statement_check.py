"""Every statement once on the real server before the first run: one that cannot run is an error of the study.

The load engine does it, so text, values and the way to send them are those of the load. Each transaction is
rolled back where the server can; the data come anew for each run where the server is ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from steelyard import _core
from steelyard.host.processes.limits import TimedOut, within
from steelyard.lab.consistency import check_loaded
from steelyard.lab.engines.plan import engine_plan
from steelyard.lab.environment.redaction import redact_text
from steelyard.study.errors import InputError
from steelyard.study.factors import level_of_statement
from steelyard.study.plan import Option, Slot
from steelyard.study.script_study import as_transaction
from steelyard.study.scripts import commands_of
from steelyard.study.study import Study
from steelyard.study.workloads.replay import ReplayWorkload
from steelyard.study.workloads.statements import Statement, StatementWorkload
from steelyard.subjects import Bench, Kind, Load, Subject, SubjectFailed, started
from steelyard.subjects.servers.by_address import reading, refuse_writes, written
from steelyard.workloads import Work
from steelyard.workloads.replay.capture_file import read_capture

# connecting, for each transaction
_CONNECT_S = 15.0
# of a capture's executions: a replay that loses more measures something else
_LOST_SHARE = 0.5
_WRITES = "25006"


def check_statements(bench: Bench, kind: Kind, subject: Subject) -> None:
    """Raises InputError for statements that the server refuses, with its words; SubjectFailed.

    One start of the server per version, schema and session; whatever else goes wrong is left to the runs to
    report. At an address without consent, statements that write are refused before they do.
    """
    if not kind.statement_errors or not bench.work.statements:
        return
    reads = bench.study.subject.dsn is not None and not bench.study.subject.writes
    if reads:
        refuse_writes(written(bench.works.values()).values())
    for alike in _alike(bench.options):
        try:
            load = started(subject, alike[0])
            check_loaded(bench.study, bench.work, load)
            if reads and load.server:
                load = replace(load, server=reading(load.server))
            for option in _distinct(bench, alike):
                # the same server for every option: what a driver sends is first tried by its runs
                refused = _refused(bench, kind, option, load) if load.engine == "load" else []
                if reads:
                    refuse_writes(sorted({row["statement"] for row in refused if row["code"] == _WRITES}))
                if refused and not _is_minor(option, refused):
                    raise _error(bench, kind, option, refused)
        except (TimedOut, _core.LoadError, *kind.driver_errors) as error:
            if reads:
                raise SubjectFailed(f"whether the statements write could not be tried: {error}") from error
        finally:
            subject.stop()


def _alike(options: Iterable[Option]) -> Iterator[Sequence[Option]]:
    """Options with rounds of long queries have texts of ours: only their SQL of scope schema is tried."""
    found: dict[str, list[Option]] = {}
    for option in options:
        if _is_tried(option) or option.schema:
            server = (option.bindir, dict(option.session), dict(option.schema))
            found.setdefault(repr(server), []).append(option)
    yield from found.values()


def _distinct(bench: Bench, options: Iterable[Option]) -> Iterable[Option]:
    """One per way to send statements and per set of their texts."""
    return {
        sent(option, bench.works[option.label]): option for option in options if _is_tried(option)
    }.values()


def _is_tried(option: Option) -> bool:
    return option.workload.steady or isinstance(option.workload, ReplayWorkload)


def _is_minor(option: Option, refused: Sequence[Mapping[str, str]]) -> bool:
    """Of a capture, each class is tried once, by itself: what needs its session may be refused here alone."""
    if not isinstance(option.workload, ReplayWorkload):
        return False
    classes = read_capture(Path(option.workload.capture)).classes
    names = {row["statement"] for row in refused}
    lost = sum(one.executions for one in classes if one.name in names)
    return lost <= _LOST_SHARE * sum(one.executions for one in classes)


def sent(option: Option, work: Work) -> str:
    """What its statements have in common with those of other options: how they are sent, and their texts."""
    keys = option.workload.load_keys() or {}
    return repr([keys.get(key) for key in ("handle", "text", "parameters")] + list(work.statements.values()))


def _refused(bench: Bench, kind: Kind, option: Option, load: Load) -> list[Mapping[str, str]]:
    """What cannot run whatever values are drawn: transaction, statement, code, message of each."""
    work = bench.works[option.label]
    plan = json.dumps(engine_plan(bench.study, Slot(1, 1, option), work, load))
    transactions = len(work.transactions) or len(work.statements)
    limit_s = transactions * (_CONNECT_S + option.workload.longest_s)
    tried: Mapping[str, list[str]] = json.loads(
        within(limit_s, "trying the statements", lambda: _core.load_trial(plan))
    )
    rows = [dict(zip(tried, row, strict=True)) for row in zip(*tried.values(), strict=True)]
    return [row for row in rows if any(fnmatchcase(row["code"], code) for code in kind.statement_errors)]


def _error(bench: Bench, kind: Kind, option: Option, refused: Sequence[Mapping[str, str]]) -> InputError:
    first, study = refused[0], bench.study
    name = first["statement"]
    others = sorted({row["statement"] for row in refused} - {name})
    cause = redact_text(f"{first['message']} ({first['code']})", study)
    text = f'option {option.label}: the statement "{name}" cannot run: {cause}'
    if others:
        text += f"; nor can {', '.join(others)}"
    hint = ""
    if first["code"] in kind.no_table:
        hint = (
            f"to make and fill the tables: steelyard data {bench.source} | {kind.client}"
            if study.subject.dsn
            else "workload.schema_sql, schema_file or data_file makes the tables"
        )
        if option.session:
            hint += f"; settings of the session: {', '.join(f'{k} = {v}' for k, v in option.session.items())}"
    elif (own := _own(study, name)) and len(commands := commands_of(own.sql)) > 1:
        generators = {key: drawn.model_dump() for key, drawn in own.parameters.items()}
        hint = as_transaction(name, commands, generators)
    if level := level_of_statement(study, option.levels, name):
        return InputError(text, hint, level)
    own = _own(study, name)
    if own is None:
        return InputError(text, hint, ("workload", "kind"))
    if own.sql_file:
        text = f"{own.sql_file}:{_first_line(own.sql)}: {text}"
    return InputError(text, hint, ("workload", "statements", name, "sql_file" if own.sql_file else "sql"))


def _own(study: Study, name: str) -> Statement | None:
    workload = study.workload
    return workload.statements.get(name) if isinstance(workload, StatementWorkload) else None


def _first_line(sql: str) -> int:
    """Number of the first line that is neither empty nor a comment."""
    lines = sql.split("\n")
    spoken = (n for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("--"))
    return next(spoken, 1)
