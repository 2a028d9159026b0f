"""steelyard anonymise FILE... -o FOLDER."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "folder", required=True, type=click.Path(path_type=Path), help="Folder to write."
)
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    default=Path("anonymise.key"),
    show_default=True,
    help="File of the secret; made where there is none. Equal values become equal ones under one secret.",
)
@click.option("--names", is_flag=True, help="Replace names of tables, columns and the like as well.")
@click.option("--database", default="", help="Take the statements of this database. Default: the only one.")
def command(files: tuple[Path, ...], folder: Path, key: Path, names: bool, database: str) -> None:
    """Replace the values in captured traffic and in dumps of its data, before they leave their owner.

    FILE: what `capture-load` reads, a capture, or a dump by pg_dump or mysqldump. Equal values become equal
    ones of the same kind and length, so that keys and joins still match; what is not understood is removed.

    \b
    steelyard anonymise postgresql.csv before.sql -o anonymous
    """
    from steelyard.captures.anonymity.folder import anonymise
    from steelyard.workflow.complaint import say

    for line in anonymise(files, folder, key, names, database):
        say(line)
