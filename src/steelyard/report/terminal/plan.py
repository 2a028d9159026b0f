"""The plan before the first run: what will be measured, and how long it takes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from steelyard import quantities as fmt
from steelyard.analysis.judgement import FEWEST_BLOCKS
from steelyard.printable import printable
from steelyard.study.plan import load_s
from steelyard.study.study import Options, Study

_LABELS_MAX = 8


@dataclass(frozen=True)
class Expected:
    """seconds: length of the study, None: unknown; redo_s: additional, for blocks that may be run again.

    one_after_another: why the options of a block do not take turns; '': they do. servers: how many are up at
    the same time, and what they need, as text; '' for one. refused: what this machine
    refuses of the study. inherited: from whoever
    started the lab. busy: what else the machine does; '': nothing. held: what the lab makes the same in
    all options; '': nothing. folders: beside their data, which the servers may write. unconfined: why the
    kernel does not confine servers; '': it does. writes: statements that write at an address, with their
    tables; '': none. unverified: monitors whose set was not verified, one sentence each.
    """

    seconds: float | None
    redo_s: float = 0.0
    one_after_another: str = ""
    servers: str = ""
    refused: Sequence[str] = ()
    inherited: Sequence[str] = ()
    busy: str = ""
    held: str = ""
    folders: Sequence[str] = ()
    unconfined: str = ""
    writes: str = ""
    unverified: Sequence[str] = ()


def print_plan(study: Study, options: Options, expected: Expected, console: Console) -> None:
    """Question, factors, options, blocks and expected length, on `console` (standard error)."""
    console.print(Text(printable(study.question), "bold"))
    print_lines(_lines(study, options, expected), console)


def _lines(study: Study, options: Options, expected: Expected) -> Iterator[tuple[str, str]]:
    plan, subject = study.plan, study.subject
    yield (
        "subject",
        " ".join(filter(None, (subject.kind, subject.bindir, "at an address" if subject.dsn else "")))
        + (", durability off: a crash loses transactions" if subject.durability == "off" else ""),
    )
    for name, factor in study.factors.items():
        yield "factor", f"{name} ({factor.scope}): {', '.join(factor.levels)}"
    for name, text in (
        ("held", expected.held),
        ("writes", expected.writes),
        ("warning", expected.unconfined),
    ):
        if text:
            yield name, text
    if expected.folders:
        yield "folders", f"servers may also write into {', '.join(expected.folders)}"
    for sentence in expected.refused:
        yield "refused", sentence
    for sentence in expected.unverified:
        yield "monitor", sentence
    if expected.inherited:
        yield "inherits", fmt.listed(expected.inherited)
    if expected.busy:
        yield "busy", f"{expected.busy}: other work may disturb what is measured"
    labels = [option.label for option in options]
    more = f" and {len(labels) - _LABELS_MAX} more" if len(labels) > _LABELS_MAX else ""
    yield "options", f"{len(labels)}: {', '.join(labels[:_LABELS_MAX])}{more}"
    if len(labels) > 1:
        yield "order", _order(study, expected)
    few = f" (a verdict needs {FEWEST_BLOCKS})" if len(labels) > 1 and plan.blocks < FEWEST_BLOCKS else ""
    who = study.workload.point_is if plan.clients == [1] else study.workload.points_are
    yield (
        "plan",
        f"{fmt.count(plan.blocks, 'block')}{few} x {fmt.count(len(labels), 'option')},"
        f" {', '.join(map(str, plan.clients))} {who}, {_phases(study)}:"
        f" {_length(study, len(labels), expected)}",
    )
    if plan.stop is not None:
        when = f"when every interval is within ±{plan.stop.half_width_percent:g} %"
        yield "stop", f"after {plan.stop.after_blocks} blocks or later, {when}"


def print_lines(lines: Iterable[tuple[str, str]], console: Console) -> None:
    """Lines of the plan: a name and a text each."""
    for name, text in lines:
        console.print(Text(f"{name:<9}", "dim") + Text(printable(text)), soft_wrap=True)


def _order(study: Study, expected: Expected) -> str:
    if expected.one_after_another:
        return f"one run after another within a block, because {expected.one_after_another}"
    on = f", on {expected.servers}" if expected.servers else ""
    return f"within a block the options take turns of {study.plan.turn_ms:g} ms{on}"


def _length(study: Study, options: int, expected: Expected) -> str:
    if expected.seconds is None:
        return "the time is estimated after the first run"
    about = f"about {fmt.duration(round(expected.seconds))}"
    # the rest of a study is for servers, data and connections
    run_s = load_s(study)
    if run_s is not None and (all_s := run_s * study.plan.blocks * options) < expected.seconds:
        about += f", {fmt.duration(round(all_s))} of it under load"
    if not expected.redo_s:
        return about
    longest = fmt.duration(round(expected.seconds + expected.redo_s))
    return f"{about}, at most {longest} if disturbed blocks are run again"


def _phases(study: Study) -> str:
    plan, workload = study.plan, study.workload
    if load_s(study) is None:
        return "each run to its end"
    measured = f"{plan.measure_s:g} s"
    if plan.transactions is not None:
        measured = f"{plan.transactions:,} transactions (at most {measured})"
    if workload.in_rounds:
        measured = f"whole rounds within {measured}"
    elif not workload.steady:
        measured = f"the whole capture, at most {measured},"
    simulated = " in simulated time" if workload.simulated else ""
    return f"{plan.warm_up_s:g} s warm-up, {measured} measured per load point{simulated}"
