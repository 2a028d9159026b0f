"""The load engine against a real MariaDB: the server's own counters say what was sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from handles import REPRESENTATIVE, mariadb_counts_the_same, run, transactions
from mariadb_server import Server, mariadb
from servers import free_port, plan

from steelyard import _core


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with mariadb("--max-connections=20") as running:
        yield running


@pytest.mark.parametrize(("handle", "text", "parameters"), REPRESENTATIVE)
def test_every_handle_executes_what_it_counts(
    server: Server, handle: str, text: str, parameters: str
) -> None:
    mariadb_counts_the_same(server, handle, text, parameters)


def test_bound_and_written_values_find_the_same_rows(server: Server) -> None:
    server.ask("create table lab.seen (nth int auto_increment primary key, how varchar(9), id int)")
    for handle, parameters in (("none", "none"), ("named", "client")):
        note = {
            "name": "note",
            "sql": f"insert into seen (how, id) select '{handle}', id from item where id = :id",
            "parameters": {"id": {"kind": "uniform", "low": 1, "high": 1000}},
        }
        unit = {"name": "note", "weight": 1, "statements": ["note"], "begin": False}
        work = {"statements": [note], "transactions": [unit], "points": [1]}
        run(plan(server.endpoint(), handle=handle, parameters=parameters, **work))
    sequences = [
        str(server.ask(f"select group_concat(id order by nth) from lab.seen where how = '{how}'")).split(",")
        for how in ("none", "named")
    ]
    both = min(map(len, sequences))
    assert both > 10
    assert sequences[0][:both] == sequences[1][:both]


def test_a_password_opens_over_tcp_and_a_wrong_one_is_never_told(server: Server) -> None:
    known = server.endpoint(socket=None, user="native", password="opensesame")
    assert transactions(run(plan(known))) > 0
    with pytest.raises(_core.LoadError, match=r"\(1045\) Access denied.*28000") as refused:
        run(plan(known | {"password": "opensesamo"}))
    assert "opensesamo" not in str(refused.value)


@pytest.mark.parametrize("handle", ["none", "named"])
def test_tls_encrypts(server: Server, handle: str) -> None:
    ciphered = [{"name": "tls", "sql": "select length(variable_value) as cipher from"
                 " information_schema.session_status where variable_name = 'Ssl_cipher'"}]  # fmt: skip
    secret = server.endpoint(
        socket=None, user="native", password="opensesame", tls="verify-full",
        ca_file=str(server.folder / "ca.crt"),
    )  # fmt: skip
    result = run(plan(secret, handle=handle, inspect=ciphered))
    assert transactions(result) > 0
    assert all(length > 5 for length in result["inspect"]["value"])
    with pytest.raises(_core.LoadError, match="certificate"):
        run(plan(secret | {"ca_file": str(server.folder / "other.crt")}))


def test_a_deadlock_is_rolled_back_and_counted(server: Server) -> None:
    server.ask("create or replace table lab.pair (id int primary key, n int not null)")
    server.ask("insert into lab.pair values (1, 0), (2, 0)")
    take = {
        name: {"name": name, "sql": f"update pair set n = n + 1 where id = {row}"}
        for name, row in (("first", 1), ("second", 2))
    }
    units = [
        {"name": "up", "weight": 1, "statements": ["first", "second"], "begin": True},
        {"name": "down", "weight": 1, "statements": ["second", "first"], "begin": True},
    ]
    result = run(
        plan(server.endpoint(), statements=list(take.values()), transactions=units, points=[8], measure_s=1)
    )
    count = transactions(result)
    assert count > 0
    assert set(result["errors"]["code"]) == {"40001"}
    assert result["errors"]["message"][0].startswith("(1213) Deadlock")
    one, other = (int(server.ask(f"select n from lab.pair where id = {row}")) for row in (1, 2))
    # a transaction that lost took back its first half, so both rows count the same
    assert one == other and count <= one <= count + 8


def test_the_limit_of_prepared_statements_is_an_error_with_its_number(server: Server) -> None:
    server.ask("set global max_prepared_stmt_count = 50")
    try:
        result = run(plan(server.endpoint(), handle="left", text="unique"))
    finally:
        server.ask("set global max_prepared_stmt_count = 16382")
    assert transactions(result) <= 50
    assert result["errors"]["message"][0].startswith("(1461) Can't create more than max_prepared_stmt_count")


def test_a_load_point_with_fewer_clients_than_planned_is_no_result(server: Server) -> None:
    with pytest.raises(_core.LoadError, match=r"\d+ of 64 clients are connected: .*\(1040\) Too many"):
        run(plan(server.endpoint(), points=[4, 64]))


def test_a_refusal_names_address_and_cause(server: Server) -> None:
    with pytest.raises(_core.LoadError, match=r"m\.nowhere"):
        run(plan(server.endpoint(socket=str(server.folder / "m.nowhere"))))
    with pytest.raises(_core.LoadError, match=r"nothing listens|refused"):
        run(plan(server.endpoint(socket=None, port=free_port())))
    with pytest.raises(_core.LoadError, match="Unknown database 'nowhere'"):
        run(plan(server.endpoint(database="nowhere")))


def test_a_lost_connection_comes_back_and_prepares_anew(server: Server) -> None:
    def kill() -> None:
        for _ in range(200):
            time.sleep(0.01)
            found = server.ask(
                "select id from information_schema.processlist where db = 'lab' and user = 'root' limit 1"
            )
            if found:
                server.ask(f"kill {found}")
                return

    killer = threading.Thread(target=kill)
    killer.start()
    result = run(plan(server.endpoint(), handle="named", parameters="client", points=[3], measure_s=1.5))
    killer.join()
    assert result["engine"]["reconnections"] >= 1
    assert all(count > 0 for count in result["clients"]["transactions"])


@pytest.mark.parametrize("io", ["epoll", "io_uring"])
@pytest.mark.parametrize("size", [100_000, 3_000_000])
@pytest.mark.parametrize("handle", ["none", "unnamed"])
def test_a_packet_that_is_too_large_is_an_error_with_its_number(
    server: Server, io: str, size: int, handle: str
) -> None:
    # the server ends the connection while the rest of the packet is being written
    server.ask("set global max_allowed_packet = 16384")
    try:
        text = f"select length('{'y' * size}')"
        statement = {"name": "lookup", "sql": text, "parameters": {}}
        result = run(
            plan(server.endpoint(), handle=handle, io=io, points=[1], statements=[statement], measure_s=2)
        )
    finally:
        server.ask("set global max_allowed_packet = 16777216")
    assert set(result["errors"]["code"]) == {"08S01"}
    assert result["errors"]["message"][0].startswith("(1153) Got a packet bigger")


@pytest.mark.parametrize("handle", ["none", "named", "unnamed"])
def test_all_results_of_a_call_are_read(server: Server, handle: str) -> None:
    server.ask("create or replace procedure lab.two() begin select 1; select 2, 3 union select 4, 5; end")
    statement = {"name": "lookup", "sql": "call two()", "parameters": {}}
    result = run(plan(server.endpoint(), handle=handle, statements=[statement]))
    assert transactions(result) > 0 and not result["errors"]["code"]


def test_the_limit_of_an_account_is_told_with_the_clients_that_it_let_in(server: Server) -> None:
    server.ask("create or replace user few@'%' identified by 'opensesame' with max_user_connections 2")
    at = server.endpoint(socket=None, user="few", password="opensesame", database="")
    select = {"name": "lookup", "sql": "select 1", "parameters": {}}
    with pytest.raises(_core.LoadError, match=r"2 of 5 clients are connected: .*\(1226\)"):
        run(plan(at, points=[5], statements=[select]))
