"""A script of SQL or of pgbench instead of a study: the hint is a study that executes it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from laboratory import Lab

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.sql_text import commands_of
from steelyard.study.load_study import find_study, parse_study
from steelyard.study.script_study import is_script, variables_of

TPCB = """\
-- a comment; with a semicolon
\\set aid random(1, 100000 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance, ';' FROM pgbench_accounts
  WHERE aid = :aid;
END;
"""


def hint_of(folder: Path, script: str, name: str = "My Script.sql") -> str:
    path = folder / name
    path.write_text(script)
    with pytest.raises(InputError, match="a script of SQL, not a study") as refused:
        find_study(str(path))
    return refused.value.hint


def study_in(hint: str) -> tuple[str, dict[str, Any]]:
    _, _, text = hint.partition("\n\n")
    return text, tomllib.loads(text)


def test_the_commands_of_a_script_are_cut_outside_of_quotes_and_comments() -> None:
    script = "select ';' /* ; */; -- ;\ninsert into \"a;b\" values ($x$;$x$, $$;$$);\n ;"
    assert commands_of(script) == ["select ';'", 'insert into "a;b" values ($x$;$x$, $$;$$)']


@pytest.mark.parametrize(
    ("line", "generator"),
    [
        ("\\set a random(1, 100000 * :scale)", '{ kind = "uniform", low = 1, high = 100000 }'),
        ("\\set a random(-(2 + 3), 7 / 2 - 1)", '{ kind = "uniform", low = -5, high = 2 }'),
        (
            "\\set a random_zipfian(1, 10, 1.5)",
            '{ kind = "zipf", low = 1, high = 10, exponent = 1.5 }',
        ),
        ("\\set a 3 * :scale", '{ kind = "choice", values = [3] }'),
    ],
)
def test_a_set_line_is_a_generator_with_its_own_name_and_range(line: str, generator: str) -> None:
    (variable,) = variables_of(line)
    assert variable.generator == generator
    assert variable.by_scale == (":scale" in line)


def test_a_range_by_a_constant_of_the_scale_depends_on_the_scale() -> None:
    _, found = variables_of("\\set n 10 * :scale\n\\set id random(1, :n)")
    assert found.generator == '{ kind = "uniform", low = 1, high = 10 }' and found.by_scale


@pytest.mark.parametrize(
    "line",
    [
        "\\set a random(1, :b)",
        "\\set a random_gaussian(1, 2, 3)",
        "\\set a 1 / 0",
        "\\set a 2 ** 9",
        f"\\set a {'(' * 150}",
        f"\\set a 1{'0' * 150}",
        "\\gset",
        "\\sleep 10 ms",
    ],
)
def test_a_line_that_is_not_understood_gives_no_generator(line: str) -> None:
    assert not variables_of(line)


def test_the_hint_for_set_has_the_users_variable_and_range() -> None:
    text = (
        'name = "m"\nquestion = "?"\nsubject.kind = "postgres"\nworkload.kind = "sql"\n'
        "workload.statements.one.sql = '''\n\\set aid random(1, 500 * :scale)\nselect :aid'''"
    )
    with pytest.raises(InputError) as refused:
        parse_study(text, "m.toml")
    words = str(refused.value)
    assert 'for "\\set aid random(1, 500 * :scale)" write parameters = ' in words
    assert '{ aid = { kind = "uniform", low = 1, high = 500 } }, and keep :aid in the SQL' in words
    assert ":scale, pgbench's scale factor, counts as 1 here" in words


@pytest.mark.parametrize(
    "script",
    [TPCB, "\\set a random(1, 5)\n\\if :a > 1\nselect abalance from pgbench_accounts;\n\\endif"],
)
def test_a_script_on_tables_of_pgbench_gives_a_study_that_makes_them(tmp_path: Path, script: str) -> None:
    hint = hint_of(tmp_path, script)
    assert hint.startswith("steelyard run --pgbench My Script.sql; or save this study as my-script.toml")
    text, raw = study_in(hint)
    study = parse_study(text, str(tmp_path / "my-script.toml"))
    assert study.name == "my-script"
    assert raw["workload"] == {"kind": "pgbench", "script": ["My Script.sql"], "scale": 1}


def test_a_script_on_tables_of_the_user_names_the_file_of_their_data(tmp_path: Path) -> None:
    text, raw = study_in(hint_of(tmp_path, "\\set id random(1, 9)\nselect :id from mine", "2.sql"))
    (tmp_path / "data.sql").write_text("")
    parse_study(text, str(tmp_path / "x.toml"))
    assert raw["name"] == "script-2" and raw["workload"]["data_file"] == "data.sql"
    assert raw["workload"]["script"] == ["2.sql"]


def test_a_script_that_makes_tables_belongs_into_schema_file(tmp_path: Path) -> None:
    hint = hint_of(tmp_path, "create table a (b int);", "tables.sql")
    assert 'workload.schema_file = "tables.sql"' in hint


def test_a_script_by_another_name_is_known_by_its_text() -> None:
    assert all(map(is_script, (TPCB, "\\set a 1\n", "  SELECT 1", "/* x */ begin;")))
    assert not any(map(is_script, ('name = "a"', "# c\n", "with = 1", "select.a = 2", "[call]", "")))


def test_the_study_of_a_script_can_be_planned(lab: Lab) -> None:
    (lab.folder / "tpcb.sql").write_text(TPCB)
    refused = lab.run("run", "tpcb.sql")
    assert refused.returncode == 2 and not refused.stdout
    text, _ = study_in(refused.stderr)
    (lab.folder / "tpcb.toml").write_text(text)
    planned = lab.run("run", "tpcb.toml", "--dry-run")
    assert planned.returncode == 0, planned.stderr


def test_a_script_runs_without_a_study_against_settings_of_a_file(lab: Lab) -> None:
    (lab.folder / "tpcb.sql").write_text(TPCB)
    (lab.folder / "other.conf").write_text(
        "# ours\nwork_mem = 8MB   # each\nsearch_path '\"$user\", public'\n"
    )
    short = ("--blocks", "1", "--measure", "0.5", "--clients", "2")
    done = lab.run(
        "run", "--pgbench", "tpcb.sql@2", "--pgbench", "select-only", "--against", "other.conf", *short,
        "--bundle", lab.bundle,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    assert [option.label for option in bundle.options] == ["as-is", "other"]
    assert bundle.setting("other", "work_mem") == "8MB"
    found = bundle.columns("select distinct statement from latency")["statement"]
    assert "transaction" in {str(name) for name in found} and len(found) > 3


@pytest.mark.parametrize("arguments", [(), ("demo", "--pgbench", "a.sql"), ("demo", "--scale", "2")])
def test_scripts_stand_in_place_of_a_study(lab: Lab, arguments: tuple[str, ...]) -> None:
    refused = lab.run("run", *arguments)
    assert refused.returncode == 2 and "--pgbench" in refused.stderr


def test_several_commands_in_a_statement_are_named_as_a_transaction(lab: Lab) -> None:
    study = lab.folder / "two.toml"
    study.write_text(
        'name = "two"\nquestion = "?"\nsubject.kind = "postgres"\nplan.clients = [1]\n[workload]\n'
        'kind = "sql"\nschema_sql = "create table t (id int)"\n[workload.statements.pay]\n'
        'sql = "update t set id = :id; select id from t where id = :id"\n'
        'parameters.id = { kind = "uniform", low = 1, high = 9 }\n'
    )
    refused = lab.run("run", study)
    assert refused.returncode == 2
    assert "two.toml:9: workload.statements.pay.sql: " in refused.stderr
    assert "cannot insert multiple commands into a prepared statement" in refused.stderr
    assert '[workload.transactions.NAME] statements = ["A", "B"]' in refused.stderr
