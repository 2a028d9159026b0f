"""steelyard capture-load FILE... -o FOLDER."""

from pathlib import Path

import click

from steelyard.cli.completion import PATH


@click.command()
@click.argument("files", nargs=-1, required=True, type=PATH)
@click.option("-o", "--output", "folder", required=True, type=PATH, help="Folder to write.")
@click.option("--database", default="", help="Take the statements of this database. Default: the only one.")
@click.option("--values", type=PATH, help="Generators of values for statements of pg_stat_statements, TOML.")
def command(files: tuple[Path, ...], folder: Path, database: str, values: Path | None) -> None:
    """Read the logs of a server as a workload that can be replayed.

    FILE: logs of one server and one period: PostgreSQL csvlog and jsonlog,
    MariaDB general and slow log, pgreplay's replay files. Writes FOLDER/load.capture, which holds the texts
    and values of the log, and FOLDER/study.toml, a study that replays it.

    A CSV of pg_stat_statements gives a study of its statements by frequency; their values come from logs
    that are given as well, or from --values.

    \b
    steelyard capture-load postgresql.csv -o captured
    steelyard run captured/study.toml
    """
    from steelyard.captures.folder import write_folder
    from steelyard.captures.mix import is_mix, write_mix
    from steelyard.errors import InputError
    from steelyard.workflow.complaint import say

    mixed = any(map(is_mix, files))
    if values is not None and not mixed:
        raise InputError("--values needs a CSV of pg_stat_statements: a log has its values")
    said = write_mix(files, folder, values, database) if mixed else write_folder(files, folder, database)
    for line in said:
        say(line)
