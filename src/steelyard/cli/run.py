"""steelyard run STUDY."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("study")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    help="Folder to write. Default: NAME-DATE.bundle here.",
)
@click.option("--blocks", type=click.IntRange(1), help="How often each option runs, instead of the plan's.")
@click.option("--clients", help="Points, instead of the plan's: 1,8,64.")
@click.option("--measure", type=click.FloatRange(0.1), help="Seconds measured, instead of the plan's.")
@click.option("--subject", help="Asks the same of another server: `statements --subject mariadb`.")
@click.option("--dry-run", is_flag=True, help="Print the plan, run nothing.")
@click.option("--json", "as_json", is_flag=True, help="The judgement as JSON on standard output.")
def command(
    study: str,
    bundle: Path | None,
    blocks: int | None,
    clients: str | None,
    measure: float | None,
    subject: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run STUDY: a built-in one by name (see `steelyard studies`), or a TOML file.

    Prints the plan first: options, blocks, minutes. Ctrl-C keeps finished runs; go on with
    `steelyard resume BUNDLE`.
    """
    from steelyard.cli.conduct import conduct
    from steelyard.study.adjust import adjusted

    text, origin = adjusted(study, blocks=blocks, clients=clients, measure_s=measure, subject=subject)
    conduct(text, origin, bundle, dry_run=dry_run, as_json=as_json)
