"""steelyard fleet."""

from pathlib import Path

import click

from steelyard.cli.completion import PATH, as_json

_FILE = click.argument("file", type=PATH)


@click.group()
def command() -> None:
    """Load from several machines: FILE has [fleet] with the hosts and their roles."""


@command.command()
@_FILE
def up(file: Path) -> None:
    """Start a worker on each host of FILE; Ctrl-C ends them."""
    from steelyard.workflow.runs import fleet_up

    fleet_up(file, lambda text: click.echo(text, err=True))


@command.command()
@_FILE
@as_json("As JSON on standard output.")
def check(file: Path, as_json: bool) -> None:
    """Check the hosts of FILE: versions, clocks, network, CPUs, limits. The fleet must be up."""
    from steelyard.workflow.runs import fleet_check

    fleet_check(file, as_json)
