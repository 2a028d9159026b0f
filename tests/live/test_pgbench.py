"""Scripts of pgbench: their steps, and the same work as pgbench itself on a real server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from laboratory import Lab
from needs import needs
from servers import Server, plan, postgres

from steelyard import _core
from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.study.expressions import Place, parse
from steelyard.study.load_study import parse_study, plan_study
from steelyard.workloads import Work, work_of
from steelyard.workloads.load_plan import load_plan
from steelyard.workloads.pgbench.steps import compiled

HEAD = """\
name = "p"
question = "?"
subject.kind = "postgres"
plan.clients = [2]
[workload]
kind = "pgbench"
"""
HERE = Place("a.sql", 1)
CONSTANTS = {"scale": 3, "client_id": 0, "random_seed": 1, "default_seed": 7, "t": "item"}


def steps_of(script: str) -> list[dict[str, Any]]:
    return compiled(script, "a.sql", "", CONSTANTS).steps


def refused(script: str) -> str:
    with pytest.raises(InputError) as error:
        compiled(script, "a.sql", "", CONSTANTS)
    return f"{error.value}; {error.value.hint}"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", ["add", 1, ["mul", 2, 3]]),
        ("(1 + 2) * :a", ["mul", ["add", 1, 2], "a"]),
        ("10 - 3 - 2", ["sub", ["sub", 10, 3], 2]),
        ("-9223372036854775808", -(2**63)),
        ("-:a", ["neg", "a"]),
        ("~1 + 2", ["bit-not", ["add", 1, 2]]),
        ("1 | 2 & 3", ["bit-and", ["bit-or", 1, 2], 3]),
        ("not :a = 1 and true or null", ["or", ["and", ["not", ["eq", "a", 1]], True], None]),
        (":a is not null", ["not", ["is-null", "a"]]),
        (":a ISNULL", ["is-null", "a"]),
        (":a is true", ["is-true", "a"]),
        ("case when :a > 1 then 2 else 3 end", ["case", ["gt", "a", 1], 2, 3]),
        ("CASE WHEN true THEN 1.5 END", ["case", True, 1.5]),
        ("greatest(1, 2, 3)", ["greatest", ["greatest", 1, 2], 3]),
        ("random_zipfian(1, 10, 1.5)", ["random-zipfian", 1, 10, 1.5]),
        ("hash(:a)", ["hash-murmur2", "a", "default_seed"]),
        ("permute(1, 10, 5)", ["permute", 1, 10, 5]),
        ("pi() * 1e3", ["mul", ["pi"], 1000.0]),
        ("5 % mod(7, 4)", ["mod", 5, ["mod", 7, 4]]),
    ],
)
def test_an_expression_has_the_precedence_of_pgbench(text: str, tree: Any) -> None:
    assert parse(text, HERE) == tree


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("1 +", "it ends too early"),
        ("1 < 2 < 3", '"<" is not expected here'),
        ("(1", "it ends too early"),
        ("1 $ 2", '"$ 2" is not expected here'),
        ("sine(1)", "the function sine() is not supported"),
        ("random(1)", "the function random() has 1 arguments, not 2"),
        ("9223372036854775808", "is beyond whole numbers"),
        ("debug(1)", "the function debug() is not supported"),
        ("case end", '"end" is not expected here'),
        ("(" * 100 + "1" + ")" * 100, "is nested too deeply"),
        ("", "it ends too early"),
    ],
)
def test_an_expression_that_is_none_is_refused_with_its_line(text: str, cause: str) -> None:
    with pytest.raises(InputError, match=r"a\.sql:1: ") as error:
        parse(text, HERE)
    assert cause in str(error.value)


def test_branches_waits_and_transactions_become_steps() -> None:
    script = (
        "-- a; comment\n\\set a random(1, :scale)\nBEGIN;\n\\if :a = 1\nselect ';', :a;\n\\elif :a = 2\n"
        "update t set b = 2\n  where a = :a;\n\\else\n\\sleep :a ms\n\\endif\nEND;"
    )
    found = compiled(script, "a.sql", "", CONSTANTS)
    assert {name: one.sql for name, one in found.statements.items()} == {
        "select1": "select ';', :a",
        "update2": "update t set b = 2\n  where a = :a",
    }
    assert found.steps == [
        {"do": "set", "value": "scale", "to": 3},
        {"do": "set", "value": "a", "to": ["random", 1, "scale"]},
        {"do": "begin"},
        {
            "do": "if",
            "condition": ["eq", "a", 1],
            "then": [{"do": "statement", "name": "select1"}],
            "else": [
                {
                    "do": "if",
                    "condition": ["eq", "a", 2],
                    "then": [{"do": "statement", "name": "update2"}],
                    "else": [{"do": "wait", "ms": ["mul", "a", 1]}],
                }
            ],
        },
        {"do": "commit"},
    ]


def test_gset_takes_the_columns_that_the_script_uses() -> None:
    statement, check, _, other = steps_of(
        "select 1 as x, 2 as y \\gset p_\n\\set z :p_x + 1\nselect :z, :p_y;"
    )
    assert statement["take"] == {"p_x": "x", "p_y": "y"}
    assert check["condition"] == ["ne", statement["rows"], 1]
    assert check["then"] == [{"do": "fail", "message": "a.sql:1: \\gset needs a result of one row"}]
    assert other["name"] == "select2"


def test_variables_of_the_study_stand_for_values_and_for_parts_of_the_sql() -> None:
    found = compiled("select * from :t where id = :client_id and n::int = 1;", "a.sql", "", CONSTANTS)
    assert found.statements["select1"].sql == "select * from item where id = :client_id and n::int = 1"
    assert found.steps[0] == {"do": "set", "value": "client_id", "to": ["client"]}


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ("select 1;\nselect :nope;", "a.sql:2: :nope has no value; \\set nope EXPRESSION before it"),
        ("\\set a 1\nselect ':a';", "a.sql:2: :a in quotes is not replaced; move it out of the quotes"),
        ("select 1 \\; select 2;", "a.sql:1: \\; is not supported"),
        ("select 1;\n\n\\aset\n", "a.sql:3: \\aset is not supported; end each command"),
        ("\\startpipeline\nselect 1;", "a.sql:1: \\startpipeline is not supported; remove it"),
        ("\\setshell a echo 1\nselect :a;", "a.sql:1: \\setshell is not supported; give the value in"),
        ("\\shell ls\nselect 1;", "a.sql:1: \\shell is not supported"),
        ("\\if 1\nselect 1;", "a.sql:1: \\if without \\endif"),
        ("select 1;\n\\endif", "a.sql:2: \\endif without \\if"),
        ("\\if 1\n\\else\n\\elif 2\n\\endif\nselect 1;", "a.sql:3: \\elif after \\else"),
        ("\\gset\nselect 1;", "a.sql:1: \\gset follows a command"),
        ("\\set a\nselect 1;", "a.sql:1: \\set a: needs a name and an expression"),
        ("\\sleep soon\nselect 1;", "a.sql:1: \\sleep soon: needs a whole number"),
        ("\\foo\nselect 1;", "a.sql:1: \\foo is no meta-command"),
        ("\\set a 1\n", "a.sql:1: the script has no SQL command"),
        ("select 'a;\n", "a.sql:1: a quote or a comment that begins here"),
        ("\\set a 1 + :t\nselect :a;", "a.sql:1: :t is a text"),
    ],
)
def test_what_is_not_supported_is_refused_with_its_line_and_the_way_around(script: str, cause: str) -> None:
    assert refused(script).startswith(cause)


def test_scripts_are_read_beside_the_study_with_their_weights(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("\\set id random(1, :n)\nselect :id;")
    text = HEAD + 'script = ["a.sql@3", "select-only"]\nvariables = { n = 5 }\nscale = 2\n'
    study = parse_study(text, str(tmp_path / "p.toml"))
    work = work_of(study.workload)
    assert list(work.transactions) == ["a", "select-only"]
    assert [one.weight for one in work.transactions.values()] == [3, 1]
    assert list(work.statements) == ["a select1", "select-only select1"]
    assert "generate_series(1, 200000)" in work.script


@pytest.mark.parametrize(
    ("keys", "cause"),
    [
        ('script = ["none.sql"]', "none.sql: no such file"),
        ('script = ["tpcb-like@0"]', "every script has the weight 0"),
        ("script = []", "workload.script"),
        ("variables = { client_id = 1 }", "is the number of the client"),
    ],
)
def test_a_wrong_key_is_refused_by_its_line(tmp_path: Path, keys: str, cause: str) -> None:
    with pytest.raises(InputError) as error:
        work_of(parse_study(HEAD + keys, str(tmp_path / "p.toml")).workload)
    assert cause in str(error.value)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    needs("pgbench")
    with postgres() as running:
        yield running


def study_work(folder: Path, keys: str) -> tuple[dict[str, Any], Work]:
    study, options = plan_study(HEAD + keys, str(folder / "p.toml"))
    work = work_of(options[0].workload)
    return load_plan(study, options[0], work), work


def run(server: Server, folder: Path, keys: str, **changes: Any) -> tuple[dict[str, Any], Work]:
    """The engine's result."""
    asked, work = study_work(folder, keys)
    whole = {**plan(server.endpoint()), **asked, "warm_up_s": 0, "measure_s": 1, "cool_down_s": 0, **changes}
    return json.loads(_core.load_run(json.dumps(whole), lambda _: None)), work


def pgbench(server: Server, *arguments: str) -> None:
    subprocess.run(
        ["pgbench", "-n", "-h", str(server.folder), "-p", str(server.port), "-U", "postgres", *arguments,
         "postgres"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip


def rows_of_tables(server: Server) -> list[int]:
    names = ("accounts", "tellers", "branches", "history")
    return [server.ask(f"select count(*) from pgbench_{name}") for name in names]


CALLS = """
    select coalesce(json_object_agg(queryid, calls), '{}') from pg_stat_statements
    where query ilike '%pgbench_%' and query !~* 'queryid|^(select count|truncate)'
"""
UNEQUAL = """
    select (select sum(abalance) from pgbench_accounts) - (select sum(tbalance) from pgbench_tellers)
    + (select sum(tbalance) from pgbench_tellers) - (select sum(bbalance) from pgbench_branches)
    + (select sum(bbalance) from pgbench_branches) - (select sum(delta) from pgbench_history)
"""


def per_transaction(server: Server) -> Mapping[str, float]:
    """Calls per transaction of the statements on its tables, by the server's number of the statement."""
    calls = server.ask(CALLS)
    calls = json.loads(calls) if isinstance(calls, (str, bytes)) else calls
    most = max(calls.values())
    return {name: round(count / most, 1) for name, count in calls.items() if count > most / 2}


def test_the_tables_are_those_that_pgbench_makes(server: Server, tmp_path: Path) -> None:
    pgbench(server, "-i", "-s", "2", "-q")
    sums = "select sum(bid), count(distinct bid), sum(aid) from pgbench_accounts"
    with server.connect() as connection:
        expected = connection.execute(sums).fetchone(), rows_of_tables(server)
        connection.execute("drop table pgbench_accounts, pgbench_tellers, pgbench_branches, pgbench_history")
        _, work = study_work(tmp_path, "scale = 2")
        connection.execute(work.script.encode())
        assert (connection.execute(sums).fetchone(), rows_of_tables(server)) == expected


@pytest.mark.parametrize("script", ["tpcb-like", "simple-update", "select-only"])
@pytest.mark.parametrize(
    ("handle", "mode"), [("none", "simple"), ("unnamed", "extended"), ("named", "prepared")]
)
def test_a_builtin_script_executes_the_statements_of_pgbench(
    server: Server, tmp_path: Path, script: str, handle: str, mode: str
) -> None:
    pgbench(server, "-i", "-s", "1", "-q")
    server.ask("select pg_stat_statements_reset()")
    pgbench(server, "-b", script, "-M", mode, "-c", "2", "-t", "50")
    expected = per_transaction(server)
    server.ask("select pg_stat_statements_reset()")
    result, _ = run(server, tmp_path, f'script = ["{script}"]\nhandle = "{handle}"')
    assert result["errors"]["message"] == [] and result["transactions"]["count"][0] > 20
    assert per_transaction(server) == expected
    assert len(expected) == {"tpcb-like": 5, "simple-update": 3, "select-only": 1}[script]
    if script == "tpcb-like":
        assert server.ask(UNEQUAL) == 0 and server.ask("select count(*) from pgbench_history") > 100


VALUES = """\
\\set a 17
\\set h hash_fnv1a(:a, 5)
\\set m hash_murmur2(:a, 5)
\\set c case when :a > 20 then 1 when :a is null then 2 else -7 / 2 end
\\set b (:a << 3) | 5 # 2
\\set r -7 % 3
\\set d int(7.5) + int(sqrt(2) * 100)
\\set g greatest(:a, 3.5, -1) > 17.0 or not (:a <> 17 and null)
\\set x ~5 + 1
select :a + 1 as y \\gset q_
insert into told values (:h, :m, :c, :b, :r, :d, :x, :q_y);
"""


def test_values_are_those_of_pgbench(server: Server, tmp_path: Path) -> None:
    server.ask("drop table if exists told")
    columns = ", ".join(f"{name} bigint" for name in "hmcbrdxy")
    server.ask(f"create table told ({columns})")
    script = tmp_path / "v.sql"
    script.write_text(VALUES)
    pgbench(server, "-f", str(script), "-t", "1")
    result, _ = run(server, tmp_path, 'script = ["v.sql"]', points=[1])
    assert result["errors"]["message"] == []
    assert server.ask("select count(*) from told") > 1
    assert server.ask("select count(*) from (select distinct * from told) as t") == 1


SHAPES = {
    "random(1, 10)": 0.1,
    "random_gaussian(1, 100, 4.0)": 4.0,
    "random_exponential(1, 100, 3.0)": 4.0,
    "random_zipfian(1, 100, 1.2)": 4.0,
}


@pytest.mark.parametrize("expression", SHAPES)
def test_a_distribution_is_that_of_pgbench(server: Server, tmp_path: Path, expression: str) -> None:
    script = tmp_path / "d.sql"
    script.write_text(f"\\set v {expression}\ninsert into drawn values (:v);")
    found: list[list[float]] = []
    for ours in (False, True):
        server.ask("drop table if exists drawn")
        server.ask("create unlogged table drawn (v int)")
        if ours:
            run(server, tmp_path, 'script = ["d.sql"]\nhandle = "named"', transactions_max=4000, measure_s=20)
        else:
            pgbench(server, "-f", str(script), "-M", "prepared", "-c", "2", "-t", "2000")
        facts = "select json_build_array(avg(v), stddev(v), min(v), max(v)) from drawn"
        values = server.ask(facts)
        found.append(json.loads(values) if isinstance(values, (str, bytes)) else values)
    (mean, spread, *_), (our_mean, our_spread, low, high) = found
    # three standard errors of either mean; the spread within a tenth
    assert abs(mean - our_mean) < 3 * spread * (2 / 4000) ** 0.5 + 1e-9
    assert our_spread == pytest.approx(spread, rel=0.15)
    assert low >= 1 and high <= 100


def test_a_script_that_the_server_refuses_is_named_before_the_first_run(lab: Lab) -> None:
    (lab.folder / "bad.sql").write_text("select 1;\nselect nothing from pgbench_accounts;")
    (lab.folder / "p.toml").write_text(HEAD + 'script = ["bad.sql"]\n')
    refused = lab.run("run", "p.toml", "--blocks", "1")
    assert refused.returncode == 2
    assert 'statement "select2" cannot run: column "nothing" does not exist (42703)' in refused.stderr


def test_a_server_that_is_not_postgres_is_refused(lab: Lab) -> None:
    (lab.folder / "p.toml").write_text(HEAD.replace("postgres", "mariadb"))
    refused = lab.run("run", "p.toml")
    assert refused.returncode == 2 and 'cannot run a workload of kind "pgbench"' in refused.stderr


def test_a_study_of_scripts_runs_and_its_bundle_has_them(lab: Lab) -> None:
    (lab.folder / "my.sql").write_text(
        "\\set aid random(1, 100000 * :scale)\n"
        "select abalance from pgbench_accounts where aid = :aid \\gset\n"
        "\\if :abalance < 0\nselect 1;\n\\endif\n"
    )
    (lab.folder / "p.toml").write_text(
        HEAD + 'script = ["my.sql@2", "tpcb-like"]\nretries = 3\nmix = "deck"\n'
    )
    short = ("--blocks", "1", "--measure", "0.5")
    done = lab.run("run", "p.toml", "--bundle", lab.bundle, *short)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    rows = bundle.columns("select transaction, count, errors from transactions order by transaction")
    assert list(rows["transaction"]) == ["my", "tpcb-like"] and min(rows["count"]) > 0 == max(rows["errors"])
    (lab.folder / "my.sql").unlink()
    assert bundle.study.workload.kind == "pgbench"


@pytest.mark.needs("PostgreSQL")
def test_a_run_without_transactions_says_what_its_sessions_waited_for(lab: Lab) -> None:
    locked = "begin;\nlock table pgbench_branches;\nselect pg_sleep(5);\nend;\n"
    (lab.folder / "locked.sql").write_text(locked)
    short = ("--clients", "8", "--measure", "1", "--blocks", "1", "--bundle", lab.bundle)
    done = lab.run("run", "--pgbench", "locked.sql", *short)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "% of the time for Lock:relation: a lock that another session holds: process " in said, said
    assert "raise plan.measure_s" not in said


def test_a_statement_that_runs_in_no_transaction_is_not_tried_and_runs(lab: Lab) -> None:
    (lab.folder / "by@hand.sql").write_text("vacuum pgbench_branches;\nselect 1;\n")
    done = lab.run("run", "--pgbench", "by@hand.sql@2", "--dry-run")
    assert done.returncode == 0 and "vacuum1, and what follows it" in done.stderr, done.stderr
    assert "25001" not in done.stderr
