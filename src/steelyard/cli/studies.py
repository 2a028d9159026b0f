"""steelyard studies."""

from __future__ import annotations

import click


@click.command()
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the built-in studies; with NAME, print that study file as a start for your own."""
    from rich.console import Console
    from rich.table import Table

    from steelyard.study.load_study import catalogue, find_study
    from steelyard.study.plan import options

    if name is not None:
        click.echo(find_study(name)[1], nl=False)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("study", "options", "question"):
        table.add_column(heading, justify="right" if heading == "options" else "left")
    for built_in in catalogue():
        study, _ = find_study(built_in)
        table.add_row(built_in, str(len(options(study))), study.question)
    Console().print(table)
