"""The state of each block of a bundle, and whether this study, machine and server may continue it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.study_files import changed_files
from steelyard.study.errors import InputError
from steelyard.workflow.prepare import PreparedStudy


@dataclass(frozen=True)
class Attempt:
    """The state of a block.

    number: of the attempt to continue, 0: none; done: its finished options; void: number of earlier
    attempts that ended with a void run, 0 or 1.
    """

    number: int
    done: frozenset[str] = frozenset()
    void: int = 0


ANEW = Attempt(1)


def attempts_of(bundle: Bundle, prepared: PreparedStudy) -> dict[int, Attempt]:
    """An interrupted block is run again.

    In a study over boots its attempt is continued, unless one of its runs was void.
    """
    rows = bundle.duckdb.execute(
        "select block, last, coalesce(list(option) filter (attempt = last and status = 'done'), []),"
        " bool_or(attempt = last and status <> 'done'), count(*) filter (status = 'void')"
        " from (select block, attempt, option, status, max(attempt) over (partition by block) as last"
        " from runs) group by block, last"
    ).fetchall()
    found: dict[int, Attempt] = {}
    for block, last, done, failed, void in rows:
        # after two the study fails; a resumed study counts again, since the cause may be gone
        void %= 2
        if not failed and len(done) == len(prepared.options):
            found[block] = Attempt(0)
        elif prepared.boots and not failed:
            found[block] = Attempt(last, frozenset(done), void)
        else:
            found[block] = Attempt(last + 1, void=void)
    return found


def refuse_changed(bundle: Bundle, prepared: PreparedStudy) -> None:
    """Raises InputError when the study or its options have changed since the start."""
    if bundle.study_text != prepared.text:
        raise InputError(
            f"{bundle.path}: the study was edited since the start; runs of two studies cannot be mixed",
            "start a new bundle with `steelyard run`, or resume the bundle without naming the study",
        )
    programs = prepared.programs()
    known: Mapping[str, str] = bundle.environment.get("programs", [{}])[-1]
    edited = [name for name in known if programs.get(name) != known[name]]
    if changed := [*changed_files(bundle.head, prepared.files), *edited]:
        raise InputError(
            f"{bundle.path}: {', '.join(changed)} changed since the study began",
            "start it anew with `steelyard run`, or restore programs and resume the bundle without naming the"
            " study",
        )
    labels = [option["label"] for option in bundle.head["options"]]
    if labels != [option.label for option in prepared.options]:
        raise InputError(
            f"{bundle.path}: the options that this machine permits have changed since the start",
            "resume as the same user on the same machine",
        )


def refuse_other_server(path: Path, option: str, facts: Mapping[str, Any]) -> None:
    """Raises InputError where an option's server differs from that of the finished runs."""
    environment = Bundle(path).environment
    if (then := environment.get("servers", {}).get(option)) is not None:
        refuse_other(path, {**environment, "server": then}, {**environment, "server": facts})


def refuse_other(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises InputError where facts have changed."""
    from steelyard.analysis.comparison.unlike import unlike_facts

    if unlike := unlike_facts(then, now):
        differs = "; ".join(f"{fact}: {a} before, {b} now" for fact, a, b in unlike)
        raise InputError(
            f"{path}: new runs would not be comparable with the finished ones: {differs}",
            "restore the original state and resume, or start a new bundle with `steelyard run`"
            " and compare both with `steelyard compare`",
        )
