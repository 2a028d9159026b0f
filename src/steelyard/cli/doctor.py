"""steelyard doctor."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from steelyard.cli.completion import as_json


@click.command()
@as_json("Findings as JSON.")
def command(as_json: bool) -> None:
    """Check what this machine and user permit, which servers are installed, and the current noise.

    The resolution is that of the newest finished bundle in the current folder.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from steelyard.lab.doctor.doctor import diagnose
    from steelyard.lab.environment.environment import environment
    from steelyard.printable import LINES, printable
    from steelyard.workflow.resolution import resolution_finding

    findings = [*diagnose(), resolution_finding(Path.cwd(), environment())]
    if as_json:
        click.echo(json.dumps(list(map(asdict, findings)), indent=2))
        return
    styles = {"ok": "green", "warning": "yellow", "optional": "dim", "missing": "red"}
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        text = Text(printable(finding.text, LINES))
        if finding.hint and not finding.hint.startswith("nothing to do"):
            text.append(printable(f"\nhint: {finding.hint}", LINES), "dim")
        table.add_row(Text(finding.state, styles[finding.state]), Text(printable(finding.name)), text)
    Console().print(table)
