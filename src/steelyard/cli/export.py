"""steelyard export BUNDLE FOLDER."""

from pathlib import Path

import click

from steelyard.cli.completion import PATH, bundle_argument, tables


@click.command()
@bundle_argument
@click.argument("folder", type=PATH)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "json", "speedscope", "folded"]),
    default="csv",
    show_default=True,
)
@click.option("--table", "names", multiple=True, shell_complete=tables, help="Only this table. Repeatable.")
def command(bundle: Path, folder: Path, kind: str, names: tuple[str, ...]) -> None:
    """Write the tables of BUNDLE to FOLDER, one file per table, with the runs of all options.

    speedscope, folded: the profile instead, one file per option (https://www.speedscope.app).
    """
    from steelyard.bundle.export import FORMATS, export, export_stacks
    from steelyard.printable import printable
    from steelyard.workflow.complaint import opened

    if names and kind in FORMATS:
        raise click.UsageError(f"--table: {kind} is a profile, without tables; leave one of the two out")
    found = opened(bundle)
    for place in (
        export_stacks(found, folder, kind) if kind in FORMATS else export(found, folder, kind, names)
    ):
        click.echo(printable(str(place)))
