"""jTDS against a server that counts: what each of its settings sends for a transaction."""

from __future__ import annotations

import contextlib
import shutil
import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as some

from fake_tds.requests import CANCEL, LOGIN, QUERY, TOKENS, Malformed, Request, message, requests
from fake_tds.server import PASSWORD, FakeTds, fake_tds
from laboratory import Lab
from steelyard.bundle.reader import Bundle

JTDS = "net.sourceforge.jtds:jtds:1.3.1"
CLIENTS = 2
TABLE = (Path(__file__).parent.parent / "docs" / "reference" / "jtds-requests.md").read_text(encoding="utf-8")
KINDS = ("language", "language with parameters", "prepare", "execute", "deallocate")

needs_java = pytest.mark.skipif(
    not (shutil.which("java") and shutil.which("mvn")), reason="needs Java 17 and Maven"
)

STUDY = """
name = "jtds"
question = "What is sent?"
[subject]
kind = "jdbc"
dsn = "jdbc:jtds:sybase://127.0.0.1:{port}/shop"
[workload]
kind = "sql"
driver = "{driver}"
driver_heap_mib = 64
driver_properties = {{ user = "bench", password = "${{TDS_PASSWORD}}", prepareSQL = 3, maxStatements = 500, appName = "" }}
[workload.statements.find]
sql = "select {{tag}} from item where id = :id"
parameters = {{ id = {{ kind = "uniform", low = 1, high = 100 }} }}
{more}
[factors.sent]
scope = "client"
[factors.sent.levels]
{levels}
[plan]
clients = [{clients}]
warm_up_s = 0
measure_s = 0.4
cool_down_s = 0
blocks = 1
turns = false
"""  # noqa: E501


@dataclass(frozen=True)
class Way:
    """One option. texts: same, or unique in each execution; refused: the server refuses to prepare."""

    handle: str
    prepare: int
    cache: int = 500
    texts: str = "same"

    @property
    def name(self) -> str:
        return f"{self.texts}-{self.handle}-P{self.prepare}-C{self.cache}"

    @property
    def level(self) -> str:
        properties = {"prepareSQL": self.prepare, "maxStatements": self.cache, "appName": f'"{self.name}"'}
        keys = [f'handle = "{self.handle}"']
        keys += ['text = "unique"', 'parameters = "client"'] if self.texts == "unique" else []
        keys += [f'"driver_properties.{name}" = {value}' for name, value in properties.items()]
        return f'"{self.name}" = {{ {", ".join(keys)} }}'


@dataclass(frozen=True)
class Sent:
    """What one option sent: transactions, requests of the workload by kind, commits."""

    transactions: int
    requests: Counter[str]
    commits: int

    def per_transaction(self, kind: str) -> str:
        """`1` for each transaction, `once` for each connection; a cache deallocates the last few later."""
        count = self.requests[kind]
        late = 3 * CLIENTS if kind == "deallocate" else 0
        # so many that no count can be taken for another
        assert self.transactions > CLIENTS + late * (count > CLIENTS)
        if count in (0, CLIENTS):
            return "once" if count else "0"
        return "1" if 0 <= self.transactions - count <= late else f"{count / self.transactions:.2f}"


def sent(lab: Lab, server: FakeTds, ways: Sequence[Way], more: str = "") -> dict[Way, Sent]:
    """What each way sends, by a study that `steelyard run` executes."""
    file = lab.folder / "study.toml"
    levels = "\n".join(way.level for way in ways)
    file.write_text(STUDY.format(port=server.port, driver=JTDS, clients=CLIENTS, levels=levels, more=more))
    done = lab.run("run", file, "--bundle", lab.bundle, limit_s=20 * len(ways) + 60, TDS_PASSWORD=PASSWORD)
    assert done.returncode == 0, done.stderr
    assert server.malformed == []
    rows = Bundle(lab.bundle).columns(
        "select option, sum(transactions) as done, sum(errors) as errors"
        " from clients join runs using (run) group by option"
    )
    assert set(rows["errors"]) == {0}
    transactions = dict(zip(rows["option"], map(int, rows["done"]), strict=True))
    return {
        way: Sent(
            transactions[way.name],
            Counter[str](server.counted(way.name, "from item")),
            server.counted(way.name, "COMMIT TRAN").total(),
        )
        for way in ways
    }


WAYS = [
    Way("none", 0),
    Way("none", 1),
    *(Way("named", prepare) for prepare in range(4)),
    Way("named", 1, 0),
    *(Way("per-use", prepare) for prepare in range(4)),
    Way("per-use", 1, 0),
    Way("per-use", 0, 2, "unique"),
    Way("per-use", 1, 2, "unique"),
    Way("named", 1, 500, "refused"),
    Way("per-use", 1, 0, "refused"),
]


@pytest.fixture(scope="module")
def counted(lab_of_module: Lab) -> dict[Way, Sent]:
    with fake_tds({way.name for way in WAYS if way.texts == "refused"}) as server:
        return sent(lab_of_module, server, WAYS)


@needs_java
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_requests_of_each_setting_are_those_of_the_documentation(counted: dict[Way, Sent], way: Way) -> None:
    counts = " | ".join(map(counted[way].per_transaction, KINDS))
    row = f"| {way.handle} | {way.texts} | {way.prepare} | {way.cache} | {counts} |"
    assert row in TABLE, counted[way]


@needs_java
def test_a_commit_is_a_batch_of_its_own(lab: Lab) -> None:
    more = '[workload.transactions.pair]\nstatements = ["find", "find"]\nbegin = true\n'
    with fake_tds() as server:
        bound, prepared = sent(lab, server, [Way("named", 0), Way("named", 1)], more).values()
    for counts, kind in ((bound, "language with parameters"), (prepared, "execute")):
        assert 0 <= counts.commits - counts.transactions <= CLIENTS
        assert 0 <= counts.requests[kind] - 2 * counts.transactions <= 2 * CLIENTS
    assert prepared.requests["prepare"] == CLIENTS


@needs_java
def test_a_wrong_password_of_ase_is_an_error_of_the_study(lab: Lab) -> None:
    file = lab.folder / "study.toml"
    levels = "\n".join(way.level for way in WAYS[:2])
    with fake_tds() as server:
        file.write_text(STUDY.format(port=server.port, driver=JTDS, clients=1, levels=levels, more=""))
        done = lab.run("run", file, "--bundle", lab.bundle, TDS_PASSWORD="wrong")
    assert done.returncode == 2
    assert "/shop: Login failed" in " ".join(done.stderr.split())
    assert not lab.ours() and not lab.traces()


def packet(kind: int, body: bytes, last: bool = True) -> bytes:
    return bytes([kind, last]) + (len(body) + 8).to_bytes(2, "big") + bytes(4) + body


def test_requests_of_a_recorded_session_are_understood() -> None:
    """As jTDS 1.3.1 writes them."""
    name = b"jtds000001"
    sql = b"create proc jtds000001 as select 1"
    prepare = b"\xe7" + (len(sql) + 15).to_bytes(2, "little") + b"\1\0\x0a" + name
    prepare += len(sql).to_bytes(2, "little") + sql
    assert requests(TOKENS, prepare) == [Request("prepare", "select 1", "jtds000001")]
    values = b"\xec\x14\0\2\0" + b"\0\0\0\0\0\0\x26\4\0" + b"\0\0\0\0\0\0\x27\xff\0" + b"\xd7\4\x2a\0\0\0\2it"
    execute = b"\xe7\x0f\0\2\1\x0a" + name + b"\0\0" + values
    assert requests(TOKENS, execute) == [Request("execute", "", "jtds000001", (42, "it"))]
    both = b"\x21\7\0\0\0\1select" + values + b"\xe6\7\0\4doit\0\0" + b"\x71\0"
    assert requests(TOKENS, both) == [
        Request("language with parameters", "select", "", (42, "it")),
        Request("call", "doit"),
        Request("logout"),
    ]
    assert requests(QUERY, b"set rowcount 5") == [Request("language", "set rowcount 5")]


TOKEN = some.sampled_from(
    [b"\x21", b"\x71", b"\xe6", b"\xe7", b"\xec", b"\xd7", b"\0", b"\1", b"\2", b"\4", b"\x26"]
)
NOISE = some.lists(TOKEN | some.binary(max_size=8), max_size=30).map(b"".join)


@given(NOISE)
def test_any_bytes_are_requests_or_malformed(body: bytes) -> None:
    with contextlib.suppress(Malformed):
        assert len(requests(TOKENS, body)) <= len(body)


@hypothesis_settings(max_examples=50)
@given(
    some.lists(
        some.tuples(some.sampled_from([LOGIN, TOKENS, QUERY, CANCEL, 99]), NOISE, some.booleans()), max_size=4
    )
)
def test_any_session_ends(packets: list[tuple[int, bytes, bool]]) -> None:
    """The server's end joins its threads: one that hangs would hold the test."""
    with fake_tds() as server, socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        who = bytearray(600)
        who[62:72], who[92] = PASSWORD.encode(), len(PASSWORD)
        try:
            client.sendall(packet(LOGIN, bytes(who)) + b"".join(packet(*one) for one in packets))
            client.shutdown(socket.SHUT_WR)
            while client.recv(4096):
                pass
        except OSError:
            pass  # it closed with bytes of ours unread
    assert server.logins.total() == 1


@given(some.binary(max_size=64))
def test_any_beginning_is_a_message_or_malformed(data: bytes) -> None:
    at = 0

    def receive(count: int) -> bytes:
        nonlocal at
        at += count
        if at > len(data):
            raise EOFError
        return data[at - count : at]

    with contextlib.suppress(EOFError, Malformed):
        assert len(message(receive)[1]) < len(data)
