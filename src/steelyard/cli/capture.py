"""steelyard capture NAME."""

from importlib import resources
from pathlib import Path

import click

_FOLDER = Path(str(resources.files("steelyard.catalog"))) / "capture"


@click.command()
@click.argument("name", type=click.Choice(sorted(place.stem for place in _FOLDER.glob("*.sh"))))
def command(name: str) -> None:
    """Print a script that records a run elsewhere, in files that `import` reads without a schedule.

    \b
    steelyard capture linux > capture.sh     copy it to the machine, run it there beside the load
    sh capture.sh threaded 1 60              option, block, seconds: writes threaded/block-1/
    steelyard import FOLDER --by-folder      with the copied folders
    """
    click.echo((_FOLDER / f"{name}.sh").read_text(), nl=False)
