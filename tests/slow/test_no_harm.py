"""Settings of every server and build are classed, and the lab's sessions keep their own defaults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from laboratory import Lab, small_study
from servers import pooled, postgres

from steelyard.bundle.reader import Bundle
from steelyard.study.setting_names import folded, names_of
from steelyard.subjects.postgres.binaries import installed_bindirs

SHORT = ("--blocks", "1", "--measure", "0.3", "--clients", "2")


def valkey_study(folder: Path, line: str = "") -> Path:
    text = small_study(folder, subject="valkey", blocks=1).read_text()
    study = text.replace("rows = 1000", 'kind = "key-value"\nkeys = 100').replace(
        "[factors.handle]", "[factors.hz]"
    )
    study = study.replace('scope = "client"', 'scope = "server"').replace(
        'simple = "none", named = "named"', "A = 10, B = 20"
    )
    (folder / "small.toml").write_text(study.replace('kind = "valkey"', f'kind = "valkey"\n{line}'))
    return folder / "small.toml"


def unclassed(program: str, texts: Iterator[str] | list[str] | set[str]) -> set[str]:
    """Names of texts that no list has."""
    return {folded(name) for name in texts} - names_of(program).classes.keys()


def test_every_text_setting_of_valkey_is_classed(lab: Lab) -> None:
    done = lab.run("run", valkey_study(lab.folder), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    shown = Bundle(lab.bundle).environment["server"]["settings"]
    numbers = {name for name, value in shown.items() if value.lstrip("-").isdigit() or value in ("yes", "no")}
    assert len(shown) > 150
    assert not unclassed("valkey", shown.keys() - numbers)


def test_every_text_setting_of_pgbouncer_is_classed() -> None:
    with postgres() as server, pooled(server, admin_users="postgres") as port:
        address = f"host=127.0.0.1 port={port} user=postgres dbname=pgbouncer"
        with psycopg.connect(address, autocommit=True) as connection:
            rows = connection.execute("show config").fetchall()
    names = {str(name) for name, value, *_ in rows if not str(value).lstrip("-").isdigit()}
    assert len(names) > 30
    assert not unclassed("pgbouncer", names)


def test_a_read_only_default_fails_the_statements_of_the_workload_by_their_own_error(lab: Lab) -> None:
    (lab.folder / "x.conf").write_text("default_transaction_read_only = on\n")
    done = lab.run("run", "--pgbench", "tpcb-like", "--against", "x.conf", *SHORT, "--bundle", lab.bundle)
    assert done.returncode == 1 and "25006" in done.stderr and "DROP DATABASE" not in done.stderr


@pytest.mark.parametrize("build", installed_bindirs(), ids=str)
def test_every_text_setting_of_every_postgres_is_classed(build: Path) -> None:
    with postgres(build) as server, server.connect() as connection:
        rows = connection.execute("select name from pg_settings where vartype = 'string'").fetchall()
    names = {bytes(name).decode() if isinstance(name, bytes) else name for (name,) in rows}
    assert len(rows) > 60 and not unclassed("postgres", names)


@pytest.mark.parametrize(
    "line", ["default_transaction_read_only = on", "statement_timeout = 1", "lock_timeout = 1"]
)
def test_the_labs_own_sessions_are_not_subject_to_an_options_defaults(lab: Lab, line: str) -> None:
    (lab.folder / "x.conf").write_text(f"{line}\n")
    done = lab.run("run", "--pgbench", "select-only", "--against", "x.conf", *SHORT, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    name, _, value = line.partition(" = ")
    assert Bundle(lab.bundle).setting("x", name) in (value, f"{value}ms")
