"""The catalogue of published recordings: schedules, with the tables that they describe."""

import json
from importlib import resources
from pathlib import Path

from steelyard.errors import InputError, nearest


def catalogue() -> dict[str, Path]:
    """Built-in recordings: file by name."""
    folder = Path(str(resources.files("steelyard.catalog"))) / "published"
    return {place.stem: place for place in sorted(folder.glob("*.toml"))}


def example() -> str:
    """The text of a recording that can be imported from any folder."""
    place = catalogue()["dc3-specjbb2005"]
    file = "dc3-specjbb2005.csv"
    elsewhere = json.dumps(str(place.parent / file), ensure_ascii=False)
    return (
        "# A schedule of published tables, and what they answer.\n"
        '# Your tables are in the folder of this file: file = "mine.csv".\n\n'
        + place.read_text().replace(json.dumps(file), elsewhere)
    )


def not_found(place: Path) -> InputError:
    """For a file that is not there: perhaps it is the name of a recording."""
    return InputError(f"{place}: no such file or recording{nearest(str(place), catalogue())}")
