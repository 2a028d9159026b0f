"""steelyard resume BUNDLE."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.argument("study", required=False)
@click.option("--json", "as_json", is_flag=True, help="The judgement as JSON on standard output.")
def command(bundle: Path, study: str | None, as_json: bool) -> None:
    """Go on with the study in BUNDLE where it stopped.

    Blocks that are whole stay as they are; a block that was cut short is run anew, since options
    are compared within a block. When STUDY is named it must be what the bundle began with.
    """
    from steelyard.workflow.session import resume_study

    resume_study(bundle, study, as_json=as_json)
