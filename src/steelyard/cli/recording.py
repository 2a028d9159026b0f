"""steelyard recording NAME."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("name", required=False)
@click.option("--to", type=click.Path(path_type=Path), help="Folder to write. Default: NAME.bundle here.")
def command(name: str | None, to: Path | None) -> None:
    """Write published measurements as a bundle, to be reported or overlaid like one of your own.

    NAME is one of the catalogue (without NAME they are listed), or a TOML file that says what the
    columns of your tables mean.

    \b
    steelyard recording result-cache-t2
    steelyard report result-cache-t2.bundle
    """
    from steelyard.cli.complaint import say
    from steelyard.recordings.tables import questions, write_recording

    if name is None:
        for known, question in questions():
            click.echo(f"{known:18} {question}")
        return
    path = to or Path(f"{Path(name).stem}.bundle")
    study = write_recording(name, path)
    say(f"{path}: {study.question}")
    say(f"next: steelyard report {path}")
