"""Whatever a study file holds, the reader says what is wrong and where, or takes it: no traceback."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from laboratory import Lab

from steelyard.errors import InputError
from steelyard.study.load_study import find_study, parse_study
from steelyard.study.overrides import adjusted
from steelyard.workflow.prepare import PreparedStudy

STUDY = """\
name = "mine"
question = "Which?"

[subject]
kind = "null"

[workload]
kind = "lookup"
rows = 1000

[factors.handle]
scope = "client"
levels = { A = "none", B = "named" }

[plan]
clients = [2]
measure_s = 1
"""


def refusal(text: str) -> str:
    with pytest.raises(InputError) as refused:
        parse_study(text, "my.toml")
    return str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[workload]", "[[workload]]", "my.toml:7: workload: expected a table"),
        ('[workload]\nkind = "lookup"\nrows = 1000', "[other]", "my.toml:7: other: unknown key"),
        ("rows = 1000", "rows = 9223372036854775808", "my.toml:9: workload.rows: a whole number beyond 64"),
        ("rows = 1000", "rows = 9223372036854775807", "my.toml:9: workload.rows: Input should be less"),
        ("rows = 1000", f"rows = {'9' * 4301}", "my.toml:9: a number with too many digits"),
        ("rows = 1000", f"rows = 0x{'f' * 9000}", "my.toml:9: workload.rows: a whole number beyond 64 bits"),
        ("rows = 1000", f"rows = {'[' * 9000}", "my.toml:9: lists or tables nested too deeply"),
        ("rows = 1000", f"rows = {'{a=' * 9000}1", "my.toml:9: lists or tables nested too deeply"),
        ("rows = 1000", f"{'a.' * 200_000}a = 1", "my.toml:9: a key of more than 32 parts"),
        ("rows = 1000", f"rows = {'[' * 90}{']' * 90}", "my.toml:9: workload.rows.0"),
        ("rows = 1000", "rows = 2026-11-22", "my.toml:9: workload.rows: 2026-11-22 is a date or a time"),
        ("rows = 1000", 'rows = "\\u0000"', "my.toml:9: workload.rows: a zero byte is not allowed in a text"),
        ("rows = 1000", f"{'k' * 201} = 1", "a key of 201 characters; at most 200"),
        ("measure_s = 1", "seed = 18446744073709551616", "my.toml:17: plan.seed: a whole number beyond 64"),
        ("measure_s = 1", "measure_s = inf", "my.toml:17: plan.measure_s: inf is not a finite number"),
        ("measure_s = 1", "measure_s = 1e-320", "my.toml:17: plan.measure_s: Input should be greater"),
        (
            "measure_s = 1",
            "measure_s = []",
            "my.toml:17: plan.measure_s: expected a number (given: [])",
        ),
        ("[2]", f"[{'2,' * 1001}]", "my.toml:16: plan.clients: too many entries: 1,001 (at most 1,000)"),
        ("[plan]", "[monitors]\nprocesses = 1e-320\n[plan]", "my.toml:16: monitors.processes: Input should"),
        ("[plan]", "[monitors]\nprocesses = nan\n[plan]", "monitors.processes: nan is not a finite number"),
        ("rows", "arrival.think_ms = nan\nrows", "my.toml:9: workload.arrival.think_ms: nan is not a finite"),
        (
            "rows",
            'arrival = { kind = "open", rate_per_s = inf }\nrows',
            "my.toml:9: workload.arrival.rate_per_s: inf is not a finite number",
        ),
        ("rows", "deadline_ms = 1e-320\nrows", "my.toml:9: workload.deadline_ms: Input should be greater"),
        ("[plan]", "[plan.stop]\nhalf_width_percent = inf\n[plan]", "inf is not a finite number"),
        ('"null"', '"null"\nsettings = { a = [] }', "a text in quotes, a whole number, a number or true or"),
        ('"null"', '"null"\nsettings = { a = 1e999 }', "my.toml:6: subject.settings.a: inf is not a finite"),
        (
            "[plan]",
            '[host]\nserver.cpus = "' + "0-9999," * 999 + '0"\n[plan]',
            "the list of CPUs is too long",
        ),
    ],
)
def test_a_value_that_no_key_takes_is_named_with_its_line(old: str, new: str, expected: str) -> None:
    message = refusal(STUDY.replace(old, new, 1))
    assert expected in message
    assert message.startswith("my.toml:")
    assert len(message) < 3000


@pytest.mark.parametrize("value", ["3", "[]", "true", '"lookup"', "[1]"])
@pytest.mark.parametrize("table", ["workload", "subject", "factors", "plan", "host", "probes", "reboots"])
def test_a_value_where_a_table_belongs_is_named(table: str, value: str) -> None:
    head, _, rest = STUDY.partition("\n\n")
    tables = [part for part in rest.split("\n\n") if not part.startswith(f"[{table}")]
    text = f"{head}\n{table} = {value}\n\n" + "\n\n".join(tables)
    assert f"my.toml:3: {table}: expected a table" in refusal(text)


@pytest.mark.parametrize("pattern", ["a{99999999999999999999}", "(" * 5000 + "a" + ")" * 5000, "["])
def test_a_pattern_that_python_cannot_take_is_refused(pattern: str) -> None:
    text = f"""\
name = "mine"
question = "Which?"
subject = {{ kind = "program" }}
workload = {{ kind = "program", command = ["true"], score = {{ pattern = '{pattern}' }} }}
factors.unit = {{ scope = "client", levels = {{ A = 1, B = 2 }} }}
"""
    assert "my.toml:4: workload.score.pattern: not a regular expression" in refusal(text)


def test_options_are_counted_before_they_are_listed() -> None:
    codes = ", ".join(f"L{number} = {number}" for number in range(30))
    factors = "".join(
        f'[factors.f{number}]\nscope = "server"\nsetting = "s{number}"\nlevels = {{ {codes} }}\n'
        for number in range(6)
    )
    message = refusal(STUDY.replace("[plan]", f"{factors}[plan]"))
    assert (
        "my.toml:11: factors: the levels of 7 factors make 1,458,000,000 options; at most 10,000" in message
    )


def test_runs_are_counted_before_they_are_listed() -> None:
    codes = ", ".join(f"L{number} = {number}" for number in range(200))
    factor = f'[factors.f]\nscope = "server"\nlevels = {{ {codes} }}\n'
    text = STUDY.replace("[plan]", f"{factor}[plan]\nblocks = 1000")
    assert "plan.blocks: blocks of 400 options make 400,000 runs; at most 100,000" in refusal(text)


def test_thousands_of_errors_are_said_in_some_lines() -> None:
    text = STUDY + "".join(f"k{number} = 1\n" for number in range(5000))
    lines = refusal(text).split("\n")
    assert len(lines) == 21
    assert lines[-1] == "and 4,980 more"


def refused_file(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        find_study(str(path))
    return str(refused.value)


def test_a_study_that_is_no_file_of_text_is_refused_by_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "it is a folder" in refused_file(tmp_path)
    assert "it is a pipe" in refused_file(pipe)
    assert "it is a device" in refused_file(Path("/dev/zero"))
    assert "cannot be read" in refused_file(Path("a\0b"))
    assert "cannot be read" in refused_file(tmp_path / ("x" * 5000))
    assert "no such file" in refused_file(tmp_path / "none.toml")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (STUDY.encode().replace(b"Which", b"Wh\xffch"), "study.toml:2: not UTF-8: byte 0xff"),
        (
            b"\xef\xbb\xbf" + STUDY.encode().replace(b"Which", b"Wh\xe9ch"),
            "study.toml:2: not UTF-8: byte 0xe9",
        ),
        (STUDY.encode().replace(b"Which", b"Wh\0ch"), "study.toml:2: not TOML"),
        (b"#" * (1 << 20) + b"\n" + STUDY.encode(), "it is longer than 1,048,576 bytes"),
        (STUDY.encode("utf-16"), "not UTF-8"),
        (b"", 'study.toml:1: name: missing key "name"'),
    ],
)
def test_a_study_file_that_is_no_text_is_refused_with_its_line(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    assert expected in refused_file(path)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + STUDY.encode(), STUDY.replace("\n", "\r\n").encode()])
def test_a_study_file_of_another_editor_is_taken(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    assert find_study(str(path))[1] == STUDY


@pytest.mark.parametrize("measure_s", [float("inf"), float("nan"), 1e-320])
def test_a_length_from_the_command_line_is_a_finite_number(measure_s: float) -> None:
    with pytest.raises(InputError, match="--measure"):
        adjusted("aa", measure_s=measure_s)


@pytest.mark.parametrize("until", ["fast", "0%", "200%", "-1%", "1 % or so", "nan", ""])
def test_a_half_width_from_the_command_line_is_a_percentage(lab: Lab, until: str) -> None:
    done = lab.run("run", "aa", f"--until={until}")
    assert done.returncode == 2, done.stderr
    assert f"--until {until}: expected the half-width of an interval" in done.stderr


def test_bad_input_ends_in_a_sentence_and_exit_code_2(lab: Lab) -> None:
    path = lab.folder / "study.toml"
    path.write_text(STUDY.replace("[workload]", "[[workload]]"))
    for study in (path, lab.folder, Path("/dev/zero")):
        done = lab.run("run", study)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr and done.stderr.startswith("error: ")


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
@pytest.mark.parametrize("bindir", ["/usr/no-such-version", "/no-such-version", "x" * 5000])
def test_a_folder_of_programs_that_is_not_there_is_refused_and_no_other_is_taken(
    kind: str, bindir: str
) -> None:
    text = f'''
name = "mine"
question = "Which?"
subject = {{ kind = "{kind}", bindir = "{bindir}" }}

[factors.handle]
scope = "client"
levels = {{ A = "none", B = "named" }}
'''
    with pytest.raises(InputError, match="no program"):
        PreparedStudy.of(text, "my.toml")


def test_an_address_of_thousands_of_characters_is_refused() -> None:
    text = f'''
name = "mine"
question = "Which?"
subject = {{ kind = "postgres", dsn = "{"x" * 20_000}" }}

[factors.handle]
scope = "client"
levels = {{ A = "none", B = "named" }}
'''
    with pytest.raises(InputError, match=r"my\.toml:\d+: subject\.dsn"):
        parse_study(text, "my.toml")
