"""One study recorded on several machines: does its finding hold, and what does each page show?"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from steelyard.cli.commands import cli

BLOCKS = 6


def recorded(folder: Path, name: str, ratio: float, speed: float = 1.0, options: str = "AB") -> Path:
    """A bundle of options, blocks and load points. ratio: of the second option to the first."""
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(sum(map(ord, name)))
    rows = [
        f"{option},{block},{clients},"
        f"{speed * 100 * clients**0.8 * (ratio if option == options[-1] else 1) * random.normal(1, 0.01):.3f}"
        for option in options
        for block in range(1, BLOCKS + 1)
        for clients in (1, 2, 4)
    ]
    (folder / f"{name}.csv").write_text("\n".join(["mode,run,clients,per_s", *rows]) + "\n")
    (folder / f"{name}.toml").write_text(
        f'name = "{name}"\nquestion = "A or B?"\nbaseline = "{options[0]}"\n'
        f'[[tables]]\nfile = "{name}.csv"\noption = "mode"\nblock = "run"\nclients = "clients"\n'
        'metrics = [{ column = "per_s", metric = "throughput", unit = "1/s", better = "higher" }]\n'
        f'[environment.cpu]\nmodel = "CPU of {name}"\ncores = 2\n'
    )
    place = folder / f"{name}.bundle"
    done = CliRunner().invoke(cli, ["import", str(folder / f"{name}.toml"), "-o", str(place)])
    assert done.exit_code == 0, done.output
    return place


def compared(*places: Path, options: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(cli, ["compare", *map(str, places), *options])


def test_five_platforms_are_compared_drawn_and_pooled(tmp_path: Path) -> None:
    places = [recorded(tmp_path, f"m{i}", 1.2 + 0.1 * i, speed=1 + i) for i in range(5)]
    page = tmp_path / "page.html"
    done = compared(*places, options=("--html", str(page)))
    assert done.exit_code == 0, done.output
    first = done.stdout.splitlines()[0]
    assert re.search(r"of B is 1\.(19|2)\d* to 1\.(59|6)\d* times that of A", first)
    assert "higher on 5 of 5 platforms, proven on 5" in first
    assert re.search(r"over platforms 1\.\d+ \[1\.\d+ to 1\.\d+\], which differ by 1\.1", first)
    assert "They differ in 1 thing: CPU model." in done.stdout
    assert re.search(r"throughput of m1 is (2\.0\d|1\.9\d) \[", done.stdout)
    html = page.read_text().replace("\u00a0", " ")
    assert first in html and all(f"m{i} B" in html for i in range(5))


@pytest.mark.parametrize("number", [1, 2])
def test_of_fewer_platforms_signs_and_ranges_are_told(tmp_path: Path, number: int) -> None:
    places = [recorded(tmp_path, f"m{i}", ratio) for i, ratio in enumerate((1.5, 0.7)[:number])]
    done = compared(places[0], *(places[1:] or [recorded(tmp_path, "again", 1.5)]))
    assert done.exit_code == 0, done.output
    first = done.stdout.splitlines()[0]
    assert "over platforms" not in first
    assert ("higher on 2 of 2" in first) is (number == 1) and ("1 of 2 platforms" in first) is (number == 2)


def test_bundles_of_one_option_each_are_paired_with_the_bundle_as_the_option(tmp_path: Path) -> None:
    here, there = recorded(tmp_path, "old", 1, options="A"), recorded(tmp_path, "new", 1, 2, options="C")
    page = tmp_path / "page.html"
    done = compared(here, there, options=("--html", str(page)))
    assert done.exit_code == 0, done.output
    assert (
        re.search(r"throughput of new is (2\.0\d|1\.9\d) \[", done.stdout) and "platforms" not in done.stdout
    )
    # in the pictures each bundle is an option
    assert '"option":"new"' in page.read_text() or '"colour":"new"' in page.read_text()


def test_bundles_of_one_name_in_two_folders_are_told_apart(tmp_path: Path) -> None:
    here, there = recorded(tmp_path / "one", "same", 1.3), recorded(tmp_path / "two", "same", 1.3, 2)
    done = compared(here, there, options=("--html", str(tmp_path / "page.html")))
    assert done.exit_code == 0, done.output
    assert f"throughput of {there} is" in done.stdout


def test_an_option_of_another_name_is_drawn_as_the_one_here(tmp_path: Path) -> None:
    here, there = recorded(tmp_path, "old", 1.1), recorded(tmp_path, "new", 1.2, options="AZ")
    page = tmp_path / "page.html"
    done = compared(here, there, options=("--as", "Z=B", "--html", str(page)))
    assert done.exit_code == 0, done.output
    shown = page.read_text().partition("<main>")[2].partition("</main>")[0]
    assert "new B" in shown and "new Z" not in shown


def test_options_without_a_common_name_are_refused(tmp_path: Path) -> None:
    here, there = recorded(tmp_path, "old", 1.1), recorded(tmp_path, "new", 1.2, options="CD")
    done = compared(here, there)
    assert "A, B only in" in str(done.exception)
