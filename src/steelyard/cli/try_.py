"""steelyard try."""

from pathlib import Path

import click

from steelyard.cli.completion import PATH, as_json


@click.command("try")
@click.option("--bundle", metavar="FOLDER", type=PATH, help="Folder to write.")
@as_json("The judgement as JSON on standard output.")
def command(bundle: Path | None, as_json: bool) -> None:
    """First result, in half a minute: lookups on a PostgreSQL with an index, and without one.

    Nothing has to be installed: the server comes with Steelyard, and its data are removed at the end.
    """
    from steelyard.study.overrides import adjusted
    from steelyard.workflow.session import run_study

    run_study(adjusted("try"), bundle, as_json=as_json)
