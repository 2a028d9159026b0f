"""steelyard report BUNDLE."""

import sys
from pathlib import Path

import click

from steelyard.cli.completion import PATH, as_json, bundle_argument, overlays


@click.command()
@bundle_argument
@click.option("--html", metavar="FILE", type=PATH, help="The page to write. Default: BUNDLE/report.html.")
@click.option("--images", metavar="FOLDER", type=PATH, help="Folder for every chart as PNG and SVG.")
@click.option(
    "--overlay",
    multiple=True,
    metavar="BUNDLE",
    shell_complete=overlays,
    help="Draw the curves of another bundle, or of a recording by name, behind these. Repeatable.",
)
@as_json("The judgement as JSON on standard output.")
@click.option("--markdown", is_flag=True, help="The verdict as Markdown, for an issue or a wiki.")
def command(
    bundle: Path,
    html: Path | None,
    images: Path | None,
    overlay: tuple[str, ...],
    as_json: bool,
    markdown: bool,
) -> None:
    """Print the verdict of BUNDLE, and write its charts to a page that works offline."""
    from steelyard.workflow.show import show

    if as_json and markdown:
        raise click.UsageError("--json and --markdown both write to standard output: give one")
    form = "json" if as_json else "markdown" if markdown else "terminal"
    sys.exit(show(bundle, html, images, form, overlay))
