"""steelyard data STUDY."""

from __future__ import annotations

import click


@click.command()
@click.argument("study")
def command(study: str) -> None:
    """Print the SQL that makes and fills the tables of STUDY's workload.

    For a server that is not ours (subject.dsn): Steelyard changes nothing there by itself.

    \b
    steelyard data my.toml | psql "$DSN"
    """
    from steelyard.study.reading import find_study
    from steelyard.subjects.postgres_tables import load_statements
    from steelyard.workloads import work_of

    for statement in load_statements(work_of(find_study(study)[0].workload)):
        click.echo(statement.rstrip().rstrip(";") + ";")
