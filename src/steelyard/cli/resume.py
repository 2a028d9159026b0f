"""steelyard resume BUNDLE."""

from pathlib import Path

import click

from steelyard.cli.completion import as_json, bundle_argument, studies


@click.command()
@bundle_argument
@click.argument("study", required=False, shell_complete=studies)
@as_json("The judgement as JSON on standard output.")
def command(bundle: Path, study: str | None, as_json: bool) -> None:
    """Continue the study in BUNDLE where it stopped.

    Complete blocks are kept; an incomplete block is run again, because options are compared within
    a block. STUDY, if given, must be the study that the bundle was started with.
    """
    from steelyard.workflow.session import resume_study

    resume_study(bundle, study, as_json=as_json)
