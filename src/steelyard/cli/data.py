"""steelyard data STUDY."""

import shutil
import sys
from pathlib import Path

import click

from steelyard.cli.completion import studies


@click.command()
@click.argument("study", shell_complete=studies)
def command(study: str) -> None:
    """Print the SQL that creates and fills the tables of STUDY's workload.

    For a server at an address (subject.dsn): Steelyard itself creates no tables there.

    \b
    steelyard data my.toml | psql "$DSN"
    steelyard data my.toml | mariadb -u lab -p labdata
    """
    from steelyard.study.load_study import find_study
    from steelyard.subjects.statements_of_data import load_statements

    for part in load_statements(find_study(study)[0]):
        if isinstance(part, Path):
            sys.stdout.flush()
            with part.open("rb") as content:
                shutil.copyfileobj(content, sys.stdout.buffer)
            sys.stdout.buffer.write(b"\n")
            sys.stdout.flush()
        else:
            click.echo(part.rstrip().rstrip(";") + ";")
