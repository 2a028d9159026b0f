"""steelyard dispatch TABLE [OTHER], steelyard dispatch --bursts BUNDLE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.completion import as_json
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.report.terminal.dispatcher import Life
    from steelyard.subjects.dispatcher.machine import DispatchTable

_SECONDS = {"cpu-bound": 3.5, "io-bound": 61.0, "starved": 10.0}


@click.command()
@click.argument("table", required=False)
@click.argument("other", required=False)
@click.option("--trace", is_flag=True, help="Trace one thread: priority and quantum, and why they change.")
@click.option("--from", "start", type=click.IntRange(0, 60), help="Initial level.  [default: 29]")
@click.option(
    "--behaviour", type=click.Choice(list(_SECONDS)), help="Behaviour of the thread.  [default: cpu-bound]"
)
@click.option("--seconds", type=click.FloatRange(0.1, 3600), help="Simulated seconds to trace.")
@click.option("--class", "class_name", type=click.Choice(["TS", "IA", "RT", "FX"]), default="TS")
@click.option("--hz", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Clock ticks/s.")
@click.option(
    "--bursts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Print a study that simulates the server's bursts of this bundle under both tables.",
)
@click.option("--option", help="With --bursts: whose bursts.  [default: the baseline's]")
@as_json("As JSON on standard output.")
def command(
    table: str | None,
    other: str | None,
    trace: bool,
    start: int | None,
    behaviour: str | None,
    seconds: float | None,
    class_name: str,
    hz: int,
    bursts: Path | None,
    option: str | None,
    as_json: bool,
) -> None:
    """Print a dispatch table, or with --trace show how a thread's priority changes under it.

    TABLE is `standard`, `extended` or a file in the format of `dispadmin -g`. With OTHER, the two
    tables are printed side by side.

    \b
    steelyard dispatch standard extended --trace --from 13
    steelyard dispatch extended --trace --behaviour starved --from 0
    steelyard dispatch standard > my.table

    With --bursts no table is needed: the scheduling trace of a bundle becomes the work of a simulated
    machine.

    \b
    steelyard run brokerage-slices --bundle slices
    steelyard dispatch --bursts slices > mine.toml
    steelyard run mine.toml
    """
    from steelyard.subjects.dispatcher.machine import read_table

    if bursts is not None:
        from steelyard.workflow.measured_bursts import measured_study

        _refuse_unused()
        click.echo(measured_study(bursts, option), nl=False)
        return
    if table is None:
        raise click.UsageError("Missing argument 'TABLE'.")
    if option is not None:
        raise InputError("--option has no effect without --bursts", "add --bursts BUNDLE")
    if not trace and (start, behaviour, seconds) != (None, None, None):
        raise InputError("--from, --behaviour and --seconds have no effect without --trace", "add --trace")
    tables = [read_table(name, class_name, hz) for name in (table, other) if name is not None]
    if not trace:
        _print_tables(tables, as_json)
        return
    _print_lives(tables, hz, start, behaviour or "cpu-bound", seconds, as_json)


def _refuse_unused() -> None:
    context = click.get_current_context()
    unused = [
        one.opts[0]
        for one in context.command.params
        if one.name not in ("bursts", "option")
        and context.get_parameter_source(one.name or "") is click.core.ParameterSource.COMMANDLINE
    ]
    if unused:
        raise InputError(f"--bursts simulates both tables: no use of {', '.join(unused)}", "leave it out")


def _print_lives(
    tables: list[DispatchTable],
    hz: int,
    start: int | None,
    behaviour: str,
    seconds: float | None,
    as_json: bool,
) -> None:
    from steelyard.printable import printable
    from steelyard.report.terminal.dispatcher import beside, life_lines

    class_name = tables[0].class_name
    level = start if start is not None else {"TS": 29, "IA": 29}.get(class_name, 0)
    seconds = seconds or _SECONDS[behaviour]
    lives = [_life(each, hz, level, behaviour, seconds) for each in tables]
    if as_json:
        output = {
            "class": class_name,
            "hz": hz,
            "behaviour": behaviour,
            "lives": [_life_json(life) for life in lives],
        }
        click.echo(json.dumps(output, indent=2))
        return
    click.echo(f"{class_name}, {hz} ticks/s: one thread, {behaviour}, from level {level}")
    lines = beside(*lives) if len(lives) == 2 else [lives[0].table, *life_lines(lives[0])]
    click.echo("\n".join(map(printable, lines)))


def _life(table: DispatchTable, hz: int, start: int, behaviour: str, seconds: float) -> Life:
    from steelyard import _core
    from steelyard.report.terminal.dispatcher import Life, Step
    from steelyard.run_tables.rows import each

    name = {"IA": "ts"}.get(table.class_name, table.class_name.lower())
    plan = {
        "tables": {"ts": "standard", name: table.text},
        "class": table.class_name,
        "from": start,
        "behaviour": behaviour,
        "hz": hz,
        "seconds": seconds,
    }
    try:
        columns = json.loads(_core.dispatch_life(json.dumps(plan)))
    except _core.PlanError as error:
        raise InputError(str(error).replace("groups.thread.priority", "--from")) from None
    if table.class_name in ("RT", "FX"):
        # the simulation's levels are those of time sharing
        columns |= dict.fromkeys(("from", "to"), [start] * len(columns["t_ns"]))
    names = ("t_ns", "reason", "from", "to", "priority", "quantum_ms")
    return Life(table.name, tuple(Step(*row) for row in each(columns, *names)), seconds)


def _life_json(life: Life) -> dict[str, Any]:
    steps = [
        {
            "t_ms": step.t_ns / 1e6,
            "reason": step.reason,
            "from": step.before,
            "to": step.level,
            "priority": step.priority,
            "quantum_ms": step.quantum_ms,
        }
        for step in life.steps
    ]
    return {"table": life.table, "seconds": life.seconds, "steps": steps}


def _print_tables(tables: list[DispatchTable], as_json: bool) -> None:
    if as_json:
        output = [{"table": t.name, "class": t.class_name, "levels": t.levels()} for t in tables]
        click.echo(json.dumps(output, indent=2))
        return
    if len(tables) == 1:
        click.echo(tables[0].text, nl=False)
        return
    headings = list(tables[0].levels()[0])
    width = len(" ".join(headings))
    click.echo(f"{'':5}  " + "   ".join(f"{table.name:{width}}" for table in tables).rstrip())
    click.echo("level  " + "   ".join([" ".join(headings)] * 2))
    for level, rows in enumerate(zip(*(table.levels() for table in tables), strict=True)):
        cells = [" ".join(f"{row[name]:{len(name)}}" for name in headings) for row in rows]
        click.echo(f"{level:5}  " + ("   " if rows[0] == rows[1] else " * ").join(cells))
