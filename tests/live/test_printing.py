"""What comes from a study, a bundle or a server is printed as text: no markup, no steered terminal."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from laboratory import Lab, small_study

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
WILD = "\x1b[2J\x1b]0;title\x07 [bold]b[/bold] :smile: \u202eevil\u2066 \x9b31m \x7f"


# as a path, it has no slash
WILD_NAME = "[bold]b[bold]:smile:\x1b[2J\u202e"


def assert_is_text(shown: str) -> None:
    assert not STEERING.search(shown)
    assert re.search(r"\[bold]b\[/?bold]", shown) and ":smile:" in shown
    # the terminal wraps long paths
    whole = shown.replace("\n", "")
    assert r"\x1b[2J" in whole and r"\u202e" in whole


def toml(text: str) -> str:
    return "".join(char if char.isascii() and char.isprintable() else f"\\u{ord(char):04x}" for char in text)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A finished study whose question is wild."""
    lab = Lab(tmp_path_factory.mktemp("printing"))
    study = small_study(lab.folder, blocks=1)
    study.write_text(study.read_text().replace("Which way?", toml(WILD)))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert_is_text(done.stdout)
    assert_is_text(done.stderr)
    return lab


def test_cells_and_names_of_columns_are_text(made: Lab) -> None:
    query = (
        "select chr(27) || '[2J [bold]b[/bold] :smile: ' || chr(8238) as \"[red]c\x1b]0;x\x07\","
        " '[/]' as d, 'one' || chr(10) || 'two' as e"
    )
    done = made.run("sql", made.bundle, query)
    assert done.returncode == 0, done.stderr
    assert_is_text(done.stdout)
    assert r"[red]c\x1b]0;x\x07" in done.stdout and "[/]" in done.stdout and r"one\ntwo" in done.stdout


def test_json_of_sql_is_exact(made: Lab) -> None:
    done = made.run("sql", made.bundle, "select chr(27) || '[bold]' || chr(8238) as c", "--json")
    assert json.loads(done.stdout) == [{"c": "\x1b[bold]\u202e"}]


@pytest.mark.parametrize(
    "arguments",
    [
        ["sql", "{bundle}", f"select nothing from '{WILD}'"],
        ["report", WILD],
        ["run", WILD],
        ["report", "{bundle}", f"--{WILD}"],
        ["export", "{bundle}", "out", "--table", WILD],
        ["import", WILD],
        [WILD],
    ],
)
def test_errors_repeat_what_was_typed_as_text(made: Lab, arguments: list[str]) -> None:
    done = made.run(*(str(made.bundle) if word == "{bundle}" else word for word in arguments))
    assert done.returncode == 2
    assert_is_text(done.stderr)


def test_a_bundle_at_a_wild_path_is_named_as_text(made: Lab) -> None:
    path = made.folder / WILD_NAME
    shutil.copytree(made.bundle, path)
    for command in (
        ["report", path],
        ["export", path, path / "out"],
        ["compare", "--force", path, made.bundle],
    ):
        done = made.run(*command)
        assert done.returncode == 0, done.stderr
        assert_is_text(done.stdout)


def test_an_export_prints_the_place_as_text(made: Lab, tmp_path: Path) -> None:
    done = made.run("export", made.bundle, tmp_path / WILD_NAME, "--table", "runs")
    assert done.returncode == 0
    assert_is_text(done.stdout)
