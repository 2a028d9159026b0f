"""steelyard recording NAME."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.completion import recordings


@click.command()
@click.argument("name", required=False, shell_complete=recordings)
@click.option("--to", type=click.Path(path_type=Path), help="Folder to write. Default: NAME.bundle here.")
@click.option("--example", is_flag=True, help="Print a TOML file to start from.")
def command(name: str | None, to: Path | None, example: bool) -> None:
    """Write published measurements as a bundle, which can be reported or overlaid like any other.

    NAME is a recording of the catalogue (listed without NAME), or a file: CSV with the columns clients
    and per_s for one server, or TOML that describes the columns of your tables.

    \b
    steelyard recording result-cache-t2
    steelyard report result-cache-t2.bundle
    steelyard recording --example > mine.toml
    """
    from steelyard.recordings import model
    from steelyard.recordings.write import write_recording
    from steelyard.workflow.complaint import say

    if example:
        click.echo(model.example(), nl=False)
        return
    if name is None:
        for known, question in model.questions():
            click.echo(f"{known:18} {question}")
        return
    path = to or Path(f"{Path(name).name.removesuffix('.toml').removesuffix('.csv')}.bundle")
    study = write_recording(name, path)
    say(f"{path}: {study.question}")
    say(f"next: steelyard report {path}")
