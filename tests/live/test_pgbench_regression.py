"""Scripts after pgbench's own regression tests: the same rows and values as pgbench's on one server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from pgbench_scripts import EXPRESSIONS, FAILING, SCRIPTS, UNSUPPORTED
from servers import Server, plan, postgres

from steelyard import _core
from steelyard.errors import InputError
from steelyard.study.load_study import plan_study
from steelyard.workloads import work_of
from steelyard.workloads.load_plan import load_plan

HEAD = """\
name = "p"
question = "?"
subject.kind = "postgres"
plan.clients = [1]
[workload]
kind = "pgbench"
variables = { foo = -10.1 }
"""
BEFORE = "\\set flag false\n\\set none null\n\\set zero 0\n"
MODES = [("none", "simple"), ("unnamed", "extended"), ("named", "prepared")]
TRANSACTIONS = 7


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    needs("pgbench")
    with postgres() as running:
        pgbench(running, "-i", "-s", "1", "-q")
        running.ask("create table told (n int, v text)")
        yield running


def pgbench(server: Server, *arguments: str, fails: bool = False) -> None:
    done = subprocess.run(
        ["pgbench", "-n", "-h", str(server.folder), "-p", str(server.port), "-U", "postgres", *arguments,
         "postgres"],
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stderr.decode()


def ours(
    server: Server, folder: Path, handle: str, transactions: int, measure_s: float = 20
) -> dict[str, Any]:
    """The engine's result for script.sql."""
    keys = f'script = ["script.sql"]\nhandle = "{handle}"\n'
    study, options = plan_study(HEAD + keys, str(folder / "p.toml"))
    work = work_of(options[0].workload)
    asked = {**load_plan(study, options[0], work), "points": [1], "warm_up_s": 0, "measure_s": measure_s}
    whole = {**plan(server.endpoint()), **asked, "cool_down_s": 0, "transactions_max": transactions}
    return json.loads(_core.load_run(json.dumps(whole), lambda _: None))


def told(server: Server) -> Sequence[tuple[Any, ...]]:
    """Rows by value, with their number."""
    with server.connect() as connection:
        rows = connection.execute("select n, v, count(*) from told group by 1, 2 order by 1, 2").fetchall()
        connection.execute("truncate told")
        return rows


def shown(value: bytes | None) -> str:
    """A double with the 15 significant digits of pgbench; NULL as the text that it sends."""
    text = "NULL" if value is None else value.decode()
    is_double = text.lstrip("-").replace(".", "").replace("e+", "").replace("e-", "").isdigit()
    is_double &= "." in text or "e" in text or len(text) > 20
    return f"{float(text):.15g}" if is_double else text


def both(
    server: Server, folder: Path, script: str, handle: str, mode: str
) -> list[Sequence[tuple[Any, ...]]]:
    """Rows of pgbench, of ours, of pgbench and of ours again."""
    (folder / "script.sql").write_text(script)
    found: list[Sequence[tuple[Any, ...]]] = []
    for _ in range(2):
        arguments = ("-f", str(folder / "script.sql"), "-M", mode, "-D", "foo=-10.1", "-t", str(TRANSACTIONS))
        pgbench(server, *arguments)
        found.append(told(server))
        result = ours(server, folder, handle, TRANSACTIONS)
        assert result["errors"]["message"] == []
        assert result["transactions"]["count"] == [TRANSACTIONS]
        found.append(told(server))
    return found


@pytest.mark.parametrize(("handle", "mode"), MODES)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_makes_the_rows_of_pgbench(
    server: Server, tmp_path: Path, name: str, handle: str, mode: str
) -> None:
    first, *others = both(server, tmp_path, SCRIPTS[name], handle, mode)
    assert first and others == [first] * 3


@pytest.mark.parametrize(("handle", "mode"), MODES)
def test_expressions_have_the_values_of_pgbench(
    server: Server, tmp_path: Path, handle: str, mode: str
) -> None:
    lines = [
        f"\\set v {expression}\ninsert into told values ({number}, (:v)::text);"
        for number, expression in enumerate(EXPRESSIONS)
    ]
    theirs, mine, *_ = both(server, tmp_path, BEFORE + "\n".join(lines), handle, mode)
    assert len(theirs) == len(EXPRESSIONS)
    for number, expression in enumerate(EXPRESSIONS):
        assert (expression, shown(mine[number][1])) == (expression, shown(theirs[number][1]))
        assert mine[number][2] == theirs[number][2] == TRANSACTIONS


@pytest.mark.parametrize(("line", "script"), FAILING)
def test_what_fails_in_pgbench_fails_here(server: Server, tmp_path: Path, line: int, script: str) -> None:
    (tmp_path / "script.sql").write_text(f"{script}\nselect 1;\n" if "begin;" not in script else script)
    pgbench(server, "-f", str(tmp_path / "script.sql"), "-t", "1", fails=True)
    try:
        result = ours(server, tmp_path, "none", 1, 0.3)
    except (InputError, _core.PlanError) as refused:
        assert not isinstance(refused, InputError) or f"script.sql:{line}: " in str(refused)
    else:
        assert result["transactions"]["count"] == [0] and result["transactions"]["errors"][0] > 0


@pytest.mark.parametrize(("line", "script"), UNSUPPORTED)
def test_what_is_not_supported_is_an_error_with_its_line(tmp_path: Path, line: int, script: str) -> None:
    (tmp_path / "script.sql").write_text(script + "\nselect 1;\n")
    study, _ = plan_study(HEAD + 'script = ["script.sql"]\n', str(tmp_path / "p.toml"))
    with pytest.raises(InputError) as error:
        work_of(study.workload)
    assert f"script.sql:{line}: " in str(error.value)
