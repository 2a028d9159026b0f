"""steelyard studies."""

import click

from steelyard.cli.completion import studies


@click.command()
@click.argument("name", required=False, shell_complete=studies)
def command(name: str | None) -> None:
    """List the built-in studies; with NAME, print that study file as a start for your own.

    For each study: how long it takes on this machine, what it needs, and what of that is missing here.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from steelyard.quantities import duration
    from steelyard.study.load_study import catalogue, find_study
    from steelyard.workflow.prepare import needs_of

    if name is not None:
        click.echo(find_study(name)[1], nl=False)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("study", "options", "duration", "needs", "question"):
        table.add_column(heading, justify="right" if heading in ("options", "duration") else "left")
    for built_in in catalogue():
        study, text = find_study(built_in)
        found = needs_of(text, built_in)
        needs = Text(found.text)
        for lack in found.missing:
            needs.append(f"\nmissing: {lack}", "red")
        length = "" if found.seconds is None else duration(found.seconds)
        table.add_row(built_in, str(found.options), length, needs, study.question)
    Console().print(table)
