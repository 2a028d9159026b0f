"""The plan before the first run: what will be measured, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from steelyard import quantities as fmt
from steelyard.printable import printable
from steelyard.study.plan import Option
from steelyard.study.study import Study

_LABELS_MAX = 8


@dataclass(frozen=True)
class Expected:
    """seconds: length of the study; redo_s: of the blocks that may be run again, more than that.

    refused: what this machine refuses of the study. busy: what else the machine does; '': nothing.
    """

    seconds: float
    redo_s: float = 0.0
    refused: Sequence[str] = ()
    busy: str = ""


def print_plan(study: Study, options: Sequence[Option], expected: Expected, console: Console) -> None:
    """Question, factors, options, blocks and expected length, on `console` (standard error)."""
    plan = study.plan

    def say(name: str, text: str) -> None:
        console.print(Text(f"{name:<9}", "dim") + Text(printable(text)), soft_wrap=True)

    console.print(Text(printable(study.question), "bold"))
    subject = study.subject
    say(
        "subject",
        " ".join(filter(None, (subject.kind, subject.bindir, "at an address" if subject.dsn else "")))
        + (", durability off: a crash loses transactions" if subject.durability == "off" else ""),
    )
    for name, factor in study.factors.items():
        say("factor", f"{name} ({factor.scope}): {', '.join(factor.levels)}")
    for sentence in expected.refused:
        say("refused", sentence)
    if expected.busy:
        say("busy", f"{expected.busy}: other work may disturb what is measured")
    measured = f"{plan.measure_s:g} s"
    if plan.transactions is not None:
        measured = f"{plan.transactions:,} transactions (at most {measured})"
    labels = [option.label for option in options]
    more = f" and {len(labels) - _LABELS_MAX} more" if len(labels) > _LABELS_MAX else ""
    say("options", f"{len(labels)}: {', '.join(labels[:_LABELS_MAX])}{more}")
    who = study.workload.point_is if plan.clients == [1] else study.workload.points_are
    say(
        "plan",
        f"{fmt.count(plan.blocks, 'block')} x {fmt.count(len(labels), 'option')},"
        f" {', '.join(map(str, plan.clients))}"
        f" {who}, {plan.warm_up_s:g} s warm-up, {measured} measured per load point:"
        + (" about " if study.workload.steady else " each round to its end, more than ")
        + fmt.duration(round(expected.seconds))
        + (" of simulated time" if study.workload.simulated else "")
        + _redo(expected),
    )


def _redo(expected: Expected) -> str:
    if not expected.redo_s:
        return ""
    longest = fmt.duration(round(expected.seconds + expected.redo_s))
    return f", at most {longest} if disturbed blocks are run again"
