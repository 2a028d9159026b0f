"""steelyard export BUNDLE FOLDER."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "json"]),
    default="csv",
    show_default=True,
)
@click.option("--table", "tables", multiple=True, help="Only this table; may be given again.")
def command(bundle: Path, folder: Path, kind: str, tables: tuple[str, ...]) -> None:
    """Write the tables of BUNDLE to FOLDER, one file each, runs of all options together."""
    from steelyard.bundle.export import export
    from steelyard.bundle.reader import Bundle

    for place in export(Bundle(bundle), folder, kind, tables):
        click.echo(place)
