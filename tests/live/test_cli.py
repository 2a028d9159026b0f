"""The command line as a user meets it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Lab, small_study
from made_bundles import finished_lab

from steelyard.analysis.judge import judge
from steelyard.bundle.reader import Bundle
from steelyard.lab.environment.environment import environment
from steelyard.quantities import significant
from steelyard.report.export import judgement_schema
from steelyard.workflow.resolution import resolution_finding


@pytest.fixture(scope="module")
def made() -> Iterator[Lab]:
    """A finished study of the null subject."""
    with finished_lab(draws=True) as lab:
        yield lab


@pytest.fixture(scope="module")
def tried(lab_of_module: Lab) -> tuple[Lab, str]:
    """The first command of a newcomer, and what it printed."""
    done = lab_of_module.run("try", "--bundle", lab_of_module.bundle, "--json")
    assert done.returncode == 0, done.stderr
    return lab_of_module, done.stdout


def test_the_verdict_as_json_fits_its_published_schema(made: Lab) -> None:
    judgement = json.loads((made.folder / "judgement.json").read_text())
    assert judgement["schema"] == "steelyard/judgement/1"
    assert set(judgement_schema()["required"]) <= set(judgement)


def test_report_writes_a_page_and_pictures(made: Lab) -> None:
    done = made.run("report", made.bundle, "--images", made.folder / "pictures")
    assert done.returncode == 0, done.stderr
    assert "small" in (made.bundle / "report.html").read_text()
    pictures = {place.suffix for place in (made.folder / "pictures").iterdir()}
    assert pictures == {".png", ".svg"}


def test_sql_answers_in_json(made: Lab) -> None:
    done = made.run("sql", made.bundle, "select count(*) as runs from runs", "--json")
    assert json.loads(done.stdout) == [{"runs": 4}]


def test_sql_in_a_pipe_is_not_cut(made: Lab) -> None:
    told = made.run("sql", made.bundle, "select repeat('x', 500) as long, option, status, cause from runs")
    assert "x" * 500 in told.stdout and "option" in told.stdout


@pytest.mark.parametrize(
    ("query", "error", "option"),
    [
        ("select count(*) from range(100000000000) a, range(1000000) b", "longer than 1 s", "--seconds"),
        # one call that DuckDB cannot interrupt
        ("select length(repeat('x', 2000000000))", "", ""),
        ("select list_sum(range(1000000000))", "more than 200 MB of memory", "--megabytes"),
        ("select repeat('x', 100000000) from range(100)", "", ""),
        ("select * from range(1000000000)", "more than 10,000 rows", "--json"),
    ],
)
def test_a_query_ends_within_its_limits(made: Lab, query: str, error: str, option: str) -> None:
    done = made.run("sql", made.bundle, query, "--seconds", "1", "--megabytes", "200")
    assert done.returncode == 2, done.stderr
    assert error in done.stderr and f"{option}" in done.stderr.partition("hint: ")[2]
    assert not (made.folder / ".tmp").exists()


def test_wrong_sql_is_bad_input(made: Lab) -> None:
    done = made.run("sql", made.bundle, "select nothing from nowhere")
    assert done.returncode == 2
    assert "hint:" in done.stderr


def test_export_names_the_files(made: Lab) -> None:
    done = made.run("export", made.bundle, made.folder / "out", "--table", "runs")
    assert done.stdout.strip().endswith("runs.csv")
    assert (made.folder / "out" / "runs.csv").read_text().startswith("run,option,block")


def test_a_bundle_is_compared_with_its_copy_and_not_with_itself(made: Lab) -> None:
    page = made.folder / "compared.html"
    alone = made.run("compare", made.bundle, made.bundle / ".." / made.bundle.name)
    assert alone.returncode == 2 and "a bundle is named twice" in alone.stderr
    copy = shutil.copytree(made.bundle, made.folder / "copy")
    done = made.run("compare", "--force", made.bundle, copy, "--json", "--html", page)
    assert "corrected for" in page.read_text(encoding="utf-8")
    ratios = [c["ratio"] for c in json.loads(done.stdout)[0]["comparisons"]]
    assert ratios == [1.0] * len(ratios) != []


def test_the_plan_is_printed_before_anything_runs(made: Lab) -> None:
    done = made.run("run", "statements", "--dry-run")
    assert done.returncode == 0
    assert "options  53" in done.stderr
    assert "5 blocks" in done.stderr


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_what_a_study_needs_is_told_by_its_plan_and_by_its_run_alike(lab: Lab, how: tuple[str, ...]) -> None:
    (lab.folder / "empty").mkdir()
    done = lab.run("run", "jvm-sets", *how, PATH=str(lab.folder / "empty"))
    assert done.returncode == 2
    assert done.stderr == (
        'error: jvm-sets:14: workload.command: program "java" not found\n'
        "hint: apt-get install -y openjdk-17-jdk-headless\n"
    )


def test_studies_prints_one_to_start_from(made: Lab) -> None:
    text = made.run("studies", "demo").stdout
    (made.folder / "copy.toml").write_text(text)
    assert made.run("run", "copy.toml", "--dry-run").returncode == 0


def test_data_is_the_sql_of_the_workload(made: Lab) -> None:
    assert "create table item" in made.run("data", "demo").stdout


@pytest.mark.parametrize("what", ["study", "judgement", "bundle"])
def test_schemas_are_published(made: Lab, what: str) -> None:
    done = made.run("schema", what)
    assert done.returncode == 0
    assert len(done.stdout) > 500


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rnu"], 'did you mean "run"'),
        (["run", "demmo"], 'did you mean "demo"'),
        (["run", "demo", "--clients", "many"], "whole numbers separated by commas"),
        (["run", "demo", "--block", "3"], "--block"),
        (["run", "demo", "--clients", "0"], "error: --clients: Input should be greater than or equal to 1"),
        (["run", "demo", "--clients", "8,99999"], "error: --clients: Input should be less than or equal to"),
        (["run", "demo", "--blocks", "5000"], "error: --blocks: Input should be less than or equal to 1000"),
        (["run", "demo", "--measure", "1e9"], "error: --measure: Input should be less than or equal to"),
        (["run", "demo", "--measure", "nan"], "error: --measure: "),
        (["run", "monitor.toml"], 'did you mean "processes"'),
        (["report", "nowhere"], "not a bundle"),
        (["report", "-o", "x"], "writes elsewhere with --html FILE, --images FOLDER; its output, with >"),
        (
            ["run", "-o", "x", "demo"],
            "writes elsewhere with --bundle FOLDER, --fleet FILE; its output, with > FILE",
        ),
        (["sql", "-o", "x"], "sql ... > FILE keeps what it prints"),
        (["report", "--pages", "x"], "report --help lists the options"),
        (["report", "-x"], "hint: write ./-x for a file whose name begins with -"),
    ],
)
def test_bad_input_ends_in_a_sentence_and_exit_code_2(made: Lab, arguments: list[str], expected: str) -> None:
    wrong = small_study(made.folder).read_text().replace("processes = 5", "proceses = 5")
    (made.folder / "monitor.toml").write_text(wrong)
    (made.folder / "-x").touch()
    done = made.run(*arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_an_override_does_not_shift_the_lines_of_the_study(made: Lab) -> None:
    text = small_study(made.folder).read_text()
    (made.folder / "shifted.toml").write_text("# a comment\n\n" + text.replace("rows = 1000", "rwos = 1000"))
    done = made.run("run", "shifted.toml", "--blocks", "3")
    assert done.returncode == 2
    assert 'shifted.toml:10: workload.rwos: unknown key "rwos"; did you mean "rows"?' in done.stderr


def test_try_finds_that_an_index_wins(tried: tuple[Lab, str]) -> None:
    judgement = json.loads(tried[1])["judgement"]
    compared = [c for c in judgement["comparisons"] if c["metric"] == "throughput_per_s"]
    assert [(c["option"], c["baseline"], c["blocks"]) for c in compared] == [("IX", "NONE", 5)]
    assert 1 < compared[0]["low"] < compared[0]["ratio"] < compared[0]["high"]


def failing(lab: Lab, statement: str) -> Path:
    """A study of two options on PostgreSQL with a statement of its own."""
    study = small_study(lab.folder, subject="postgres")
    text = study.read_text().replace("rows = 1000", 'kind = "sql"')
    study.write_text(f'{text}\n[workload.statements.own]\nsql = "{statement}"\n')
    return study


def test_a_study_that_cannot_run_is_not_told_to_be_resumed(lab: Lab) -> None:
    done = lab.run("run", failing(lab, "select 1 / 0"), "--bundle", lab.bundle)
    assert done.returncode == 1
    assert "division by zero" in done.stderr
    assert "resume" not in done.stderr


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['steelyard', '--help']\n"
        "from steelyard.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'pydantic', 'duckdb', 'rich', 'psycopg', 'textual'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "steelyard", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("steelyard ")


def test_modules_of_the_users_folder_are_not_ours(lab: Lab) -> None:
    for name in ("json", "queue", "random", "selectors", "signal", "tokenize"):
        (lab.folder / f"{name}.py").write_text("raise SystemExit('imported')\n")
    done = lab.run("run", small_study(lab.folder, blocks=1), "--bundle", lab.bundle)
    assert done.returncode == 0 and "imported" not in done.stderr, done.stderr


def test_doctor_finds_something_to_say_about_this_machine(made: Lab) -> None:
    findings = json.loads(made.run("doctor", "--json").stdout)
    assert {finding["state"] for finding in findings} <= {"ok", "warning", "optional", "missing"}
    assert all(finding["text"] for finding in findings)


def test_doctor_takes_the_resolution_from_the_newest_study_of_this_machine(
    made: Lab, tried: tuple[Lab, str]
) -> None:
    lab, older = tried[0], tried[0].folder / "older.bundle"
    shutil.copytree(made.bundle, older, ignore=shutil.ignore_patterns("environment.json"))
    os.utime(older / "runs", (0, 0))
    percent = judge(Bundle(lab.bundle).evidence()).precision.resolution_percent
    assert percent is not None
    found = resolution_finding(lab.folder, environment())
    assert found.text.startswith(f"{lab.bundle.name} (5 blocks of 2 options) could see differences")
    factor = f"a factor of {significant(1 + percent / 100, 2)}"
    assert f"of {factor if percent > 100 else f'{significant(percent, 2)} %'} and more" in found.text
    other_machine = {**environment(), "cpu": {**environment()["cpu"], "model": "Other"}}
    for folder, here in ((lab.folder, other_machine), (older, environment())):
        unknown = resolution_finding(folder, here)
        assert unknown.state == "optional" and "run aa" in unknown.hint


def test_the_verdict_as_markdown_names_winner_or_tie_and_the_machine(made: Lab) -> None:
    done = made.run("report", made.bundle, "--markdown")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("**")
    assert "| option |" in done.stdout
    assert "; Linux " in done.stdout


def test_the_single_machine_never_imports_the_fleet(lab: Lab) -> None:
    block = (
        "import sys\n"
        "class No:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        assert name.split('.')[0] not in ('dask', 'distributed'), name\n"
        "sys.meta_path.insert(0, No())\n"
        "sys.argv = ['steelyard', 'run', sys.argv[1], '--bundle', sys.argv[2]]\n"
        "import runpy; runpy.run_module('steelyard.cli', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", block, str(small_study(lab.folder, blocks=1)), str(lab.bundle)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "steelyard.fleet" not in done.stderr
