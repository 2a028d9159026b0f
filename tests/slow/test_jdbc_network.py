"""Java's own databases behind their network servers, and Firebird, driven at their addresses."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import firebird_server
import pytest
from laboratory import Lab, nothing_left
from needs import JDBC
from servers import answers, free_port

from steelyard.bundle.reader import Bundle
from steelyard.subjects.drivers.connection import jars, java, located, prepared, with_own_programs

pytestmark = pytest.mark.needs(*JDBC)
CLIENTS = 2


@dataclass(frozen=True)
class Client:
    """driver: Maven coordinates; url: with {port}."""

    driver: str
    url: str
    user: str
    password: str


@dataclass(frozen=True)
class Product:
    """server: Maven coordinates and arguments, with {port} and {folder}."""

    server: str
    arguments: Sequence[str]
    client: Client


PRODUCTS = {
    "h2": Product(
        "com.h2database:h2:2.3.232",
        ["org.h2.tools.Server", "-tcp", "-tcpPort", "{port}", "-baseDir", "{folder}", "-ifNotExists"],
        Client("com.h2database:h2:2.3.232", "jdbc:h2:tcp://127.0.0.1:{port}/./bank", "sa", "opensesame"),
    ),
    "hsqldb": Product(
        "org.hsqldb:hsqldb:2.7.3",
        ["org.hsqldb.server.Server", "--database.0", "file:{folder}/bank", "--dbname.0", "bank",
         "--address", "127.0.0.1", "--port", "{port}", "--silent", "true"],
        # the user of a new database
        Client("org.hsqldb:hsqldb:2.7.3", "jdbc:hsqldb:hsql://127.0.0.1:{port}/bank", "SA", ""),
    ),
    "derby": Product(
        "org.apache.derby:derbynet:10.16.1.1",
        ["org.apache.derby.drda.NetworkServerControl", "start", "-h", "127.0.0.1", "-p", "{port}",
         "-noSecurityManager"],
        Client(
            "org.apache.derby:derbyclient:10.16.1.1",
            "jdbc:derby://127.0.0.1:{port}/bank;create=true",
            "app",
            "opensesame",
        ),
    ),
}  # fmt: skip
STUDY = """
name = "network"
question = "Which way?"
[subject]
kind = "jdbc"
dsn = "{url}"
[subject.facts]
accounts = "select count(*) from account"
[workload]
kind = "sql"
driver = "{driver}"
driver_heap_mib = 64
driver_properties = {{ user = "{user}", password = "${{PASSWORD}}" }}
[workload.statements.book]
sql = "update account set balance = balance + 1 where id = :id"
[workload.statements.read]
sql = "select balance, note from account where id = :id"
[workload.transactions.book]
statements = ["book", "read"]
begin = true
values = {{ id = {{ kind = "uniform", low = 1, high = 100 }} }}
[factors.handle]
scope = "client"
levels = {{ simple = "none", named = "named", use = "per-use" }}
[plan]
clients = [{clients}]
warm_up_s = 0
measure_s = 0.3
cool_down_s = 0
blocks = 1
turns = false
"""
TABLE = "create table account (id int primary key, balance int not null, note varchar(20))"
ROWS = [f"insert into account values ({number}, 0, 'it''s')" for number in range(1, 101)]


@contextmanager
def running(product: Product, folder: Path) -> Iterator[int]:
    """The product's server, until the test's end: its port."""
    port = free_port()
    arguments = [word.format(port=port, folder=folder) for word in product.arguments]
    class_path = ":".join(map(str, jars(product.server, folder)))
    process = subprocess.Popen(
        [
            java(),
            "-Xmx256m",
            "-Dh2.bindAddress=127.0.0.1",
            f"-Dderby.system.home={folder}",
            "-cp",
            class_path,
            *arguments,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        cwd=folder,
    )
    try:
        deadline = time.monotonic() + 60
        while not answers(port):
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.1)
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_network_server_of_java_is_driven_at_its_address(lab: Lab, tmp_path: Path, name: str) -> None:
    product = PRODUCTS[name]
    with running(product, tmp_path) as port:
        refuse_wrong_counts(lab, name, product.client, port)


def test_firebird_is_driven_at_its_address(lab: Lab, tmp_path: Path) -> None:
    jaybird = "org.firebirdsql.jdbc:jaybird:5.0.6.java11"
    client = Client(
        jaybird, "jdbc:firebird://127.0.0.1:{port}/bank?charSet=utf-8", "SYSDBA", firebird_server.PASSWORD
    )
    with firebird_server.firebird(tmp_path) as port:
        refuse_wrong_counts(lab, "firebird", client, port)


def refuse_wrong_counts(lab: Lab, name: str, client: Client, port: int) -> None:
    """Runs the study against the server: what it counts is what the server has."""
    url = client.url.format(port=port)
    properties = {"user": client.user, "password": client.password}
    keys = {"driver_class": "", "login_s": 10, "heap_mib": 512, "warm_up_max_s": 15.0}
    own = with_own_programs(
        {**keys, "driver": located(client.driver, lab.folder), "url": url, "properties": properties}
    )
    prepared(own, [TABLE, *ROWS], {}, 60, url)
    file = lab.folder / "study.toml"
    file.write_text(
        STUDY.format(url=url, driver=client.driver, user=client.user, clients=CLIENTS), encoding="utf-8"
    )
    done = lab.run("run", file, "--bundle", lab.bundle, PASSWORD=client.password)
    assert done.returncode == 0, done.stderr
    sums = prepared(own, [], {"sum": "select sum(balance) from account"}, 60, url)
    bundle = Bundle(lab.bundle)
    counts = bundle.columns("select run, sum(transactions) as n, sum(errors) as e from clients group by run")
    assert min(counts["n"]) > 0
    assert int(sums["facts"]["sum"]) == sum(counts["n"])
    (option, facts), *_ = bundle.environment["servers"].items()
    assert bundle.setting(option, "fact.accounts") == "100"
    assert name[:2] in facts["version"].lower()
    assert nothing_left(lab)
