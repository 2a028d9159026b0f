"""steelyard try."""

from pathlib import Path

import click

from steelyard.cli.completion import PATH, as_json


@click.command("try")
@click.option("--bundle", metavar="FOLDER", type=PATH, help="Folder to write.")
@as_json("The judgement as JSON on standard output.")
def command(bundle: Path | None, as_json: bool) -> None:
    """First result in seconds: clients against a server that answers at once.

    Nothing has to be installed. The result is the lab's own cost: every result for a real server on
    this machine includes it.
    """
    from steelyard.study.overrides import adjusted
    from steelyard.workflow.session import run_study

    run_study(adjusted("try"), bundle, as_json=as_json)
