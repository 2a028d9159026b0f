"""steelyard compare HERE THERE ..."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.completion import bundles


@click.command()
@click.argument("here", type=click.Path(path_type=Path), shell_complete=bundles)
@click.argument("there", type=click.Path(path_type=Path), nargs=-1, required=True, shell_complete=bundles)
@click.option("--force", is_flag=True, help="Compare even if workload, data or load points differ.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
@click.option(
    "--html", metavar="FILE", type=click.Path(path_type=Path), help="Write a page too. Default: none."
)
def command(here: Path, there: tuple[Path, ...], force: bool, as_json: bool, html: Path | None) -> None:
    """Compare each bundle THERE with the bundle HERE, option by option.

    For the same work with another version or other settings of the server, or on another machine,
    kernel or day. All that differs is printed beside the result, because the runs of two bundles
    were not interleaved.
    """
    from rich.console import Console

    from steelyard.analysis.bundles import BundleComparison, compare_bundles
    from steelyard.analysis.comparison.unlike import unlike_work
    from steelyard.bundle.reader import Bundle
    from steelyard.report.page.comparison import write_comparison
    from steelyard.report.terminal.bundles import print_bundle_comparison
    from steelyard.study.errors import InputError

    base, others = Bundle(here), [Bundle(path) for path in there]
    named = [(str(bundle.path), bundle.evidence(), bundle.environment) for bundle in (base, *others)]
    for path, evidence, _ in named[1:]:
        if (unlike := unlike_work(named[0][1], evidence)) and not force:
            raise InputError(
                f"{here} and {path} have different work: {'; '.join(unlike)}",
                "--force compares them anyway",
            )
    found = compare_bundles(named[0], named[1:])
    if html is not None:
        try:
            write_comparison(html, found)
        except OSError as error:
            raise InputError(f"{html}: cannot be written: {error.strerror}") from None
    if as_json:
        from pydantic import TypeAdapter

        # an interval without an end is null: JSON has no infinity
        click.echo(TypeAdapter(list[BundleComparison]).dump_json(found, indent=2))
        return
    for comparison in found:
        print_bundle_comparison(comparison, Console())
