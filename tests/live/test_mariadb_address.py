"""A running MariaDB at an address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Lab, small_study
from mariadb_server import Server, mariadb

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.host.mariadb_login import Address, parse


def test_an_address_is_read_part_by_part() -> None:
    assert parse("mysql://me:a%40b@db.example:3307/shop?tls=verify-full&ca_file=/ca.pem") == Address(
        "db.example", 3307, "me", "a@b", "shop", None, "verify-full", "/ca.pem"
    )
    assert parse("mysql://me@/shop?socket=/run/m.sock").socket == "/run/m.sock"


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("postgresql://me@h/d", "begins with mysql://"),
        ("mysql://me@h/", "names no database"),
        ("mysql://h/d", "names no user"),
        ("mysql://me@/d", "names no host"),
        ("mysql://me@h/d?sslmode=require", 'unknown parameter "sslmode"'),
        ("mysql://me@h/d?tls=on", 'unknown tls "on"'),
        ("mysql://me@h/d?tls=verify-full", "ca_file"),
        ("mysql://me:hunter22@h:port/d", "not an address"),
    ],
)
def test_an_address_that_cannot_be_heeded_is_refused_by_what_it_says(dsn: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        parse(dsn)
    assert "hunter22" not in str(refused.value)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with mariadb() as running:
        yield running


def study_at(folder: Path, dsn: str, workload: str = "rows = 1000") -> Path:
    path = small_study(folder, "mariadb", blocks=1, think_ms=0)
    text = path.read_text().replace('"mariadb"', f'"mariadb"\ndsn = "{dsn}"').replace("rows = 1000", workload)
    path.write_text(text + "mariadb = 5\n")
    return path


OWN = 'kind = "sql"\n[workload.statements.one]\nsql = "select filler from item where id = 7"'


@pytest.mark.parametrize("tls", ["", "?tls=require", "?tls=verify-full&ca_file={ca}", "?socket={socket}"])
def test_a_server_at_an_address_is_weighed_and_its_password_kept(lab: Lab, server: Server, tls: str) -> None:
    query = tls.format(ca=server.folder / "ca.crt", socket=server.socket)
    dsn = f"mysql://native:${{LAB_PASSWORD}}@localhost:{server.port}/lab{query}"
    done = lab.run("run", study_at(lab.folder, dsn, OWN), "--bundle", lab.bundle, LAB_PASSWORD="opensesame")
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    assert bundle.environment["server"]["origin"] == "a running server at an address"
    executed = bundle.columns("select count(*) as n from samples where monitor = 'mariadb'")
    assert executed["n"][0] > 0
    roles = bundle.columns("select distinct entity from samples where monitor = 'processes'")
    assert "server" in set(roles["entity"])
    for path in lab.bundle.rglob("*"):
        assert not path.is_file() or b"opensesame" not in path.read_bytes(), path


def test_what_cannot_act_or_is_not_there_is_refused(lab: Lab, server: Server) -> None:
    dsn = f"mysql://native:${{LAB_PASSWORD}}@127.0.0.1:{server.port}/lab"
    study = study_at(lab.folder, dsn, 'kind = "orders"\nrows = 1000')
    study.write_text(study.read_text().replace('/lab"', '/lab"\nwrites = true'))
    done = lab.run("run", study, "--bundle", lab.bundle, LAB_PASSWORD="opensesame")
    assert done.returncode == 2 and "steelyard data" in done.stderr
    study.write_text(study.read_text().replace('"client"', '"server"'))
    done = lab.run("run", study, "--bundle", lab.bundle, LAB_PASSWORD="opensesame")
    assert done.returncode == 2 and "scope 'server' cannot act on a server" in done.stderr
    study = study_at(lab.folder, dsn)
    done = lab.run("run", study, "--bundle", lab.bundle, LAB_PASSWORD="wrong-word")
    assert done.returncode == 2 and "Access denied" in done.stderr and "wrong-word" not in done.stderr


def test_the_tables_of_a_study_are_told_in_the_servers_own_sql(lab: Lab) -> None:
    told = lab.run("data", study_at(lab.folder, "mysql://me@h/d")).stdout
    assert "engine = InnoDB" in told and "seq_1_to_1000" in told
