"""steelyard compare HERE THERE ..."""

from pathlib import Path

import click

from steelyard.cli.completion import PATH, as_json, bundles


@click.command()
@click.argument("here", type=PATH, shell_complete=bundles)
@click.argument("there", type=PATH, nargs=-1, required=True, shell_complete=bundles)
@click.option(
    "--as", "names", metavar="THERE=HERE", multiple=True, help="An option there is this one here; repeatable."
)
@click.option(
    "--force", is_flag=True, help="Compare even copies of a bundle, or other workloads, data or load points."
)
@as_json("As JSON on standard output.")
@click.option("--html", metavar="FILE", type=PATH, help="Write a page too. Default: none.")
def command(
    here: Path, there: tuple[Path, ...], names: tuple[str, ...], force: bool, as_json: bool, html: Path | None
) -> None:
    """Compare each bundle THERE with the bundle HERE, option by option.

    For the same work with another version or other settings of the server, or on another machine,
    kernel or day. All that differs is printed beside the result, because the runs of two bundles
    were not interleaved.
    """
    from rich.console import Console

    from steelyard.printable import printable
    from steelyard.workflow.compare import compare, print_bundle_comparison

    theirs = {label: own for label, _, own in (name.rpartition("=") for name in names)}
    if len(theirs) < len(names):
        raise click.UsageError("--as: an option there is named twice")
    compared = compare((here, *there), theirs, force)
    if html is not None:
        compared.write(html)
    if as_json:
        click.echo(compared.as_json())
        return
    for sentence in compared.platforms:
        click.echo(printable(sentence))
    for comparison in compared.found:
        print_bundle_comparison(comparison, Console())
    if compared.refusal:
        click.echo(printable(compared.refusal))
