"""Dispatch tables and the simulated dispatcher, through the command line and the binding."""

from __future__ import annotations

import json

import pytest
from laboratory import Lab

from steelyard.subjects.dispatcher.machine import read_table


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("dispatch"))


def test_a_table_is_printed_in_the_form_that_is_read(lab: Lab) -> None:
    text = lab.run("dispatch", "extended").stdout
    (lab.folder / "my.table").write_text(text)
    assert text.startswith("# Time Sharing Dispatcher Configuration\nRES=1000\n")
    assert lab.run("dispatch", "my.table").stdout == text


def test_the_trace_reasons_as_the_author_of_the_study_did(lab: Lab) -> None:
    text = lab.run("dispatch", "extended", "standard", "--trace", "--from", "13").stdout
    assert text.endswith("at 13 it used its slice: next 6 under extended, 3 under standard\n")
    assert "380 ms      6    380 ms  slice used at 13 (tqexp)" in text


@pytest.mark.parametrize(
    ("table", "arguments", "expected"),
    [
        ("standard", ["--from", "29"], [(0, 29), (120, 19), (280, 9), (480, 0)]),
        ("extended", ["--from", "19"], [(0, 19), (380, 9), (760, 4), (1140, 2), (1520, 1), (1900, 0)]),
        ("standard", ["--behaviour", "io-bound"], [(0, 29), (1000, 52), (2000, 59)]),
        ("extended", ["--behaviour", "starved", "--from", "0"], [(0, 0), (3000, 40), (6000, 41), (9000, 42)]),
    ],
)  # fmt: skip
def test_the_trace_in_json_is_the_worked_example(
    lab: Lab, table: str, arguments: list[str], expected: list[tuple[int, int]]
) -> None:
    told = json.loads(lab.run("dispatch", table, "--trace", "--json", *arguments).stdout)
    steps = [(round(step["t_ms"]), step["to"]) for step in told["lives"][0]["steps"]]
    assert steps[: len(expected)] == expected


@pytest.mark.parametrize(
    ("line", "text", "cause"),
    [
        (2, "RES=0", "expected RES=n"),
        (5, "0 0 50 0 50", "quantum 0 is out of range"),
        (6, "200 0 50 0 60", "ts_lwait 60 is not a level"),
        (7, "200 0 50 0", "too few values"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_its_line(lab: Lab, line: int, text: str, cause: str) -> None:
    lines = read_table("standard").text.splitlines()
    lines[line - 1] = text
    (lab.folder / "wrong.table").write_text("\n".join(lines))
    done = lab.run("dispatch", "wrong.table", "--trace")
    assert done.returncode == 2
    assert f"wrong.table:{line}: " in done.stderr and cause in done.stderr and "hint:" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere.table"],
        ["extended", "--class", "FX"],
        ["standard", "--from", "3"],
        ["standard", "--trace", "--from", "60"],
        ["standard", "--trace", "--behaviour", "lazy"],
        ["standard", "--hz", "0"],
    ],
)
def test_bad_input_ends_in_code_2(lab: Lab, arguments: list[str]) -> None:
    done = lab.run("dispatch", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and done.stderr.lower().startswith(("error", "usage"))
