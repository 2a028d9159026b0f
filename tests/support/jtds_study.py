"""A study of jTDS that counts what each of its settings sends for a transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fake_tds.server import PASSWORD, FakeTds, fake_tds
from laboratory import Lab

from steelyard.bundle.reader import Bundle

JTDS = "net.sourceforge.jtds:jtds:1.3.1"
CLIENTS = 2
TABLE = (Path(__file__).parents[2] / "docs" / "reference" / "jtds-requests.md").read_text(encoding="utf-8")
KINDS = ("language", "language with parameters", "prepare", "execute", "deallocate")

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


# of each new connection, before its load: by name jTDS prepares at once, but the lab does not know the driver
PRIMING = {"none": 1, "per-use": 1, "named": 11}


@dataclass(frozen=True)
class Sent:
    """What one option sent: transactions, before the load too, requests of the workload by kind, commits."""

    transactions: int
    requests: Counter[str]
    commits: int

    def per_transaction(self, kind: str) -> str:
        """`1` for each transaction, `once` for each connection; a cache deallocates the last few later."""
        count = self.requests[kind]
        late = 3 * CLIENTS if kind == "deallocate" else 0
        # so many that no count can be taken for another
        assert self.transactions > CLIENTS + late * (count > CLIENTS)
        # what is refused before the load is tried once more in it
        if count in (0, CLIENTS, 2 * CLIENTS):
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
            transactions[way.name] + CLIENTS * PRIMING[way.handle],
            Counter[str](server.counted(way.name, "from item")),
            server.counted(way.name, "COMMIT TRAN").total(),
        )
        for way in ways
    }


def documented(lab: Lab, ways: Sequence[Way]) -> None:
    """The requests of each way are those of its row of the documentation."""
    with fake_tds({way.name for way in ways if way.texts == "refused"}) as server:
        counted = sent(lab, server, ways)
    for way in ways:
        counts = " | ".join(map(counted[way].per_transaction, KINDS))
        row = f"| {way.handle} | {way.texts} | {way.prepare} | {way.cache} | {counts} |"
        assert row in TABLE, (way, counted[way])
