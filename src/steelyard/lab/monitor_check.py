"""Every query of a monitor once on the real server before the first run: one that cannot run is an error."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.host.processes.limits import TimedOut
from steelyard.lab.environment.redaction import redact_text
from steelyard.lab.run_parts import target_of
from steelyard.monitors import Target, Unavailable
from steelyard.monitors.sql.monitor import problem
from steelyard.monitors.sql.queries import Query, queries_of
from steelyard.study.errors import InputError
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects import Bench, Kind, Subject, started
from steelyard.subjects.drivers.connection import driven


def check_monitors(bench: Bench, kind: Kind, subject: Subject) -> None:
    """Raises InputError for queries that the server refuses, with its words; SubjectFailed.

    One start per version and address; whatever else goes wrong is left to the runs to report.
    """
    if not (queries := queries_of(bench.study)):
        return
    for option in _servers(bench.options):
        try:
            target = target_of(started(subject, option), {}, bench.placement.engine)
            for name, query in queries.items():
                _try(bench.study, option, name, query, target)
        except (TimedOut, *kind.driver_errors):
            continue
        finally:
            subject.stop()


def _servers(options: Iterable[Option]) -> Iterable[Option]:
    """One option per version and address."""
    found: dict[tuple[str | None, str, str], Option] = {}
    for option in options:
        workload = driven(option)
        driver, url = (workload.driver, workload.driver_url) if workload else ("", "")
        found.setdefault((option.bindir, driver, url), option)
    return found.values()


def _try(study: Study, option: Option, name: str, query: Query, target: Target) -> None:
    try:
        text = problem(name, query, target)
    except Unavailable as reason:
        text = str(reason)
    if not text:
        return
    key = next(key for key in ("set", "sql_file", "sql") if getattr(study.sql_monitors[name], key))
    cause = redact_text(f"option {option.label}: the query cannot be read: {text}", study)
    where = f"{query.sql_file}: " if query.sql_file else ""
    raise InputError(where + cause, query.needs and f"the set needs {query.needs}", ("monitors", name, key))
