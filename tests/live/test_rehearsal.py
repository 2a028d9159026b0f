"""The rehearsal: what cannot run is refused before block 1, all at once; what was tried is in the bundle."""

from __future__ import annotations

import json

import broken_studies
import mariadb_server
import pytest
import servers
from at_address import LEVELS, direct, study
from broken_studies import HANDLE, Broken
from in_process import assert_done
from java_engine import PGJDBC, needs_java
from laboratory import Lab
from rehearsed import is_refused, without_files

from steelyard.bundle.reader import Bundle

SAMPLE = [
    *list(broken_studies.of_postgres())[::9],
    *list(broken_studies.of_sqlite())[::4],
    *list(broken_studies.of_the_machine())[::4],
]
MARIADB = [
    pytest.param(broken, marks=pytest.mark.needs("MariaDB"))
    for broken in list(broken_studies.of_mariadb())[::8]
]


@pytest.mark.parametrize("broken", [*SAMPLE, *MARIADB], ids=lambda broken: broken.what)
def test_it_is_refused_alike_in_a_dry_run_and_in_a_run(lab: Lab, broken: Broken) -> None:
    is_refused(lab, broken)


def test_all_refusals_are_named_at_once_by_option_with_their_lines(lab: Lab) -> None:
    text = broken_studies.study(
        "postgres",
        keys='settings = { work_mem = "12XB", no_such_setting = 3 }',
        statements='[workload.statements.bad]\nsql = "select w from item"',
        factor=LEVELS.format("server", "shared_buffers", '"16MB"', '"many"'),
        monitors='[monitors.own]\nsql = "selec 1"\ngauges = ["n"]',
    )
    path = Broken("", text, "").written(lab.folder)
    for how in ("--dry-run", "--quick"):
        done = lab.run("run", path, how, "--bundle", lab.bundle)
        assert done.returncode == 2
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        keys = [line.split(": ")[2] for line in errors]
        assert keys == [
            "subject.settings.work_mem",
            "subject.settings.no_such_setting",
            "monitors.own.sql",
            "workload.statements.bad.sql",
            "factors.tried.levels.B",
        ]
        assert "option A" in errors[0] and "option B" in errors[-1]
    assert not lab.bundle.exists() and not lab.ours()


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("\\set id random(1, 9)\nselect abalance from pgbench_accounts where aid = :id;\n\n"
         "select abalanc from pgbench_accounts where aid = :id;\n", 4),
        ("select 1;\ncopy pgbench_history from stdin;\n", 2),
        ("\\set n 1\n\\if :n = 2\nselect nothing from pgbench_accounts;\n\\endif\nselect 1;\n", 3),
    ],
)  # fmt: skip
def test_a_command_of_a_script_is_refused_at_its_line(lab: Lab, script: str, line: int) -> None:
    (lab.folder / "own.sql").write_text(script)
    for how in (("--dry-run",), ("--bundle", lab.bundle)):
        done = lab.run("run", "--pgbench", lab.folder / "own.sql", *how)
        assert done.returncode == 2, done.stderr
        assert f"own.sql:{line}: option " in done.stderr
    assert not lab.bundle.exists()


def test_what_was_tried_is_in_the_bundle_with_plans_and_in_the_plan(lab: Lab) -> None:
    path = Broken("", broken_studies.study("postgres"), "").written(lab.folder)
    done = lab.run("run", path, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "tried    1 server, 1 statement, 5 monitors, in " in done.stderr
    rows = Bundle(lab.bundle).columns("select * from rehearsal where step = 'statement'")
    # once in each way
    assert list(zip(rows["run"], rows["option"], rows["statement"], rows["answer"], strict=True)) == [
        (1, "NON", "good", ""),
        (1, "USE", "good", ""),
    ]
    assert all(0 < seconds < 60 for seconds in rows["seconds"])
    assert all("Plan" in json.loads(plan)[0] for plan in rows["plan"])


def test_fewer_open_files_than_clients_are_refused(lab: Lab) -> None:
    path = Broken("", broken_studies.study("postgres", clients="100"), "").written(lab.folder)
    for how in ("--dry-run", "--quick"):
        done = without_files(lab, 64).run("run", path, how, "--bundle", lab.bundle)
        assert done.returncode == 2
        assert (
            "plan.clients: the load engine needs 124 open files, and the limit of this shell is 64"
            in done.stderr
        )
    assert not lab.bundle.exists()


def test_as_many_clients_as_the_limit_of_open_files_admits_run(lab: Lab) -> None:
    text = broken_studies.study("postgres", clients="104", keys="settings = { max_connections = 300 }")
    path = Broken("", text, "").written(lab.folder)
    done = without_files(lab, 128).run("run", path, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert_done(Bundle(lab.bundle))


def test_clients_of_all_options_count_against_the_connections_that_are_left(lab: Lab) -> None:
    with servers.postgres(max_connections="40") as server:
        factor = LEVELS.format("session", "application_name", '"one"', '"two"')
        text = study(lab.folder, direct(server), factor=factor).read_text()
        path = lab.folder / "there.toml"
        path.write_text(text.replace("clients = [3]", "clients = [19]"))
        for how in ("--dry-run", "--quick"):
            done = lab.run("run", path, how, "--bundle", lab.bundle)
            assert done.returncode == 2, done.stderr
            assert "plan.clients: 2 x (19 clients + 2 monitors) need 42 connections" in done.stderr
        # others hold connections too
        path.write_text(text.replace("clients = [3]", "clients = [14]"))
        assert lab.run("run", path, "--dry-run").returncode == 0
        held = [server.connect() for _ in range(12)]
        assert "the server still admits 2" in lab.run("run", path, "--dry-run").stderr
        for one in held:
            one.close()


def test_the_limit_of_a_role_counts(lab: Lab) -> None:
    with servers.postgres() as server:
        server.ask("create role few login connection limit 3")
        server.ask("grant select on item to few")
        address = f"postgresql://few@127.0.0.1:{server.port}/postgres"
        done = lab.run("run", study(lab.folder, address), "--dry-run")
        assert done.returncode == 2 and "the server still admits 3" in done.stderr


@pytest.mark.needs("MariaDB")
def test_what_commits_by_itself_is_not_tried_at_an_address(lab: Lab) -> None:
    with mariadb_server.mariadb() as server:
        dsn = f"mysql://root@/lab?socket={server.socket}"
        server.ask("create table lab.mine (id int primary key)")
        more = {"kind": "mariadb", "subject": "writes = true", "factor": HANDLE}
        path = study(lab.folder, dsn, "drop table mine", **more)
        done = lab.run("run", path, "--dry-run")
        assert done.returncode == 0, done.stderr
        assert "untried  own, with its transaction: a roll back cannot undo it" in done.stderr
        assert server.ask("select count(*) from lab.mine") == 0
        written = lab.run("run", study(lab.folder, dsn, "insert into mine values (1)", **more), "--dry-run")
        assert written.returncode == 0 and "1 statement" in written.stderr
        assert server.ask("select count(*) from lab.mine") == 0


@needs_java
def test_a_statement_that_a_driver_cannot_send_is_refused(lab: Lab) -> None:
    text = broken_studies.study(
        "postgres",
        workload=f'driver = "{PGJDBC}"',
        statements='[workload.statements.bad]\nsql = "select w from item where id = :id"\n'
        'parameters = { id = { kind = "uniform", low = 1, high = 9 } }',
        factor=LEVELS.format("client", "handle", '"none"', '"named"'),
    )
    is_refused(lab, Broken("driver", text, "workload.statements.bad.sql", 'column "w" does not exist'))


def test_a_study_without_a_refusal_leaves_nothing_after_its_dry_run(lab: Lab) -> None:
    (folder := lab.folder / "t").mkdir(mode=0o711)
    path = Broken("", broken_studies.study("postgres"), "").written(lab.folder)
    done = lab.run("run", path, "--dry-run", TMPDIR=str(folder))
    assert done.returncode == 0, done.stderr
    assert "tried    1 server" in done.stderr
    assert list(folder.iterdir()) == [] and not lab.ours()
