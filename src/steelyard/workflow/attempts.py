"""Where the blocks of a bundle stand, and whether this study, machine and server may go on with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.bundle.reader import Bundle
from steelyard.study.errors import InputError
from steelyard.workflow.prepare import PreparedStudy


@dataclass(frozen=True)
class Attempt:
    """Where a block stands.

    number: of the attempt to go on with, 0: none; done: options it has run; void: how many attempts
    before it ended with a void run, 0 or 1.
    """

    number: int
    done: frozenset[str] = frozenset()
    void: int = 0


ANEW = Attempt(1)


def attempts_of(bundle: Bundle, prepared: PreparedStudy) -> dict[int, Attempt]:
    """A block that was cut short is run anew.

    In a study over boots its attempt goes on, whatever cut it, unless a run of it was void.
    """
    rows = bundle.duckdb.execute(
        "select block, last, coalesce(list(option) filter (attempt = last and status = 'done'), []),"
        " bool_or(attempt = last and status <> 'done'), count(*) filter (status = 'void')"
        " from (select block, attempt, option, status, max(attempt) over (partition by block) as last"
        " from runs) group by block, last"
    ).fetchall()
    found: dict[int, Attempt] = {}
    for block, last, done, failed, void in rows:
        # two have failed the study: a resumed one counts anew, as its cause may be mended
        void %= 2
        if not failed and len(done) == len(prepared.options):
            found[block] = Attempt(0)
        elif prepared.boots and not failed:
            found[block] = Attempt(last, frozenset(done), void)
        else:
            found[block] = Attempt(last + 1, void=void)
    return found


def refuse_changed(bundle: Bundle, prepared: PreparedStudy) -> None:
    """Raises InputError when the study or its options are others than when it began."""
    if bundle.study_text != prepared.text:
        raise InputError(
            f"{bundle.path}: the study was edited since it began; runs of two studies cannot be mixed",
            "start it anew with `steelyard run`, or resume the bundle without naming the study",
        )
    labels = [option["label"] for option in bundle.head["options"]]
    if labels != [option.label for option in prepared.options]:
        raise InputError(
            f"{bundle.path}: this machine permits other options now than when the study began",
            "resume it as the same user on the same machine",
        )


def refuse_other_server(path: Path, option: str, facts: Mapping[str, Any]) -> None:
    """An option's server must stay what it was in the runs that are kept."""
    environment = Bundle(path).environment
    if (then := environment.get("servers", {}).get(option)) is not None:
        refuse_other(path, {**environment, "server": then}, {**environment, "server": facts})


def refuse_other(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises InputError where the facts of now are not those of then."""
    from steelyard.analysis.comparison.bundles import unlike_facts

    if unlike := unlike_facts(then, now):
        differs = "; ".join(f"{fact}: {a} then, {b} now" for fact, a, b in unlike)
        raise InputError(
            f"{path}: runs from here would not be comparable with those in it: {differs}",
            "resume it where and as it began, or start it anew with `steelyard run`"
            " and set the two side by side with `steelyard compare`",
        )
