"""An address may say only what the load engine honours."""

from __future__ import annotations

import re
from collections.abc import Iterator

import at_address
import psycopg
import pytest
import servers
from in_process import assert_done
from laboratory import Lab, small_study

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.lab.observe.latch_rows_postgres import Tranches
from steelyard.report.about.provenance import about_bundle
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects.postgres.by_address import check
from steelyard.subjects.postgres.workload_tables import load_statements
from steelyard.workloads import work_of


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in psycopg.pq.Conninfo.get_defaults():
        if option.envvar:
            monkeypatch.delenv(option.envvar.decode(), raising=False)


@pytest.mark.parametrize(
    ("parameter", "named", "mended"),
    [
        ("sslcert=/c.pem", "sslcert", "password"),
        ("sslkey=/k.pem", "sslkey", "password"),
        ("sslcrl=/r.pem", "sslcrl", "leave sslcrl out"),
        ("ssl_min_protocol_version=TLSv1.3", "ssl_min_protocol_version", "leave"),
        ("options=-c%20work_mem%3D1MB", "options", "[subject.session]"),
        ("application_name=x", "application_name", "[subject.session]"),
        ("client_encoding=LATIN1", "client_encoding", "leave it out"),
        ("connect_timeout=3", "connect_timeout", "leave connect_timeout out"),
        ("keepalives=0", "keepalives", "leave keepalives out"),
        ("channel_binding=require", "channel_binding", "leave"),
        ("require_auth=scram-sha-256", "require_auth", "leave"),
        ("target_session_attrs=read-write", "target_session_attrs", "single host"),
        ("service=bench", "service", "write host, port"),
        ("sslmode=verify-ca&sslrootcert=/ca.pem", "verify-ca", "verify-full"),
        ("sslmode=verify-full", "sslrootcert", "authority"),
        ("sslmode=verify-full&sslrootcert=system", "sslrootcert", "authority"),
        ("sslmode=verify-full&sslrootcert=/ca.pem&hostaddr=127.0.0.1", "hostaddr", "host without hostaddr"),
        ("sslmode=require&sslrootcert=/ca.pem", "sslrootcert with sslmode=require", "verify-full"),
        ("sslrootcert=/ca.pem", "sslrootcert with sslmode=prefer", "verify-full"),
    ],
)
def test_what_the_engine_would_not_honour_is_refused_by_name(parameter: str, named: str, mended: str) -> None:
    with pytest.raises(InputError, match=r"^subject\.dsn: ") as refused:
        check(f"postgresql://bench@db.example/bench?{parameter}")
    assert named in str(refused.value)
    assert mended in refused.value.hint


@pytest.mark.parametrize(
    "several", ["postgresql://a@h1,h2/d", "host=h1,h2 user=a", "hostaddr=::1,::2 user=a"]
)
def test_several_hosts_are_refused(several: str) -> None:
    with pytest.raises(InputError, match="several hosts"):
        check(several)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://bench:pw@db.example:5433/bench",
        "host=/run/postgresql dbname=bench user=bench",
        "postgresql://bench@db.example/bench?sslmode=require",
        "postgresql://bench@db.example/bench?sslmode=verify-full&sslrootcert=/ca.pem",
        "postgresql://bench@db.example/bench?hostaddr=10.0.0.1",
        # these say what the engine does anyway
        "postgresql://bench@db.example/bench?channel_binding=disable&gssencmode=disable",
        "postgresql://bench@db.example/bench?target_session_attrs=any",
    ],
)
def test_what_the_engine_honours_is_taken(address: str) -> None:
    check(address)


def test_a_parameter_of_the_environment_is_refused_by_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=1MB")
    with pytest.raises(InputError, match=r"^PGOPTIONS in the environment: .* options$"):
        check("postgresql://bench@db.example/bench")


def test_no_value_of_an_address_is_quoted() -> None:
    with pytest.raises(InputError) as refused:
        check("postgresql://bench:geheim@db.example/bench?sslpassword=geheimer")
    assert "geheim" not in str(refused.value) + refused.value.hint


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    with servers.postgres() as running:
        with running.connect() as connection:
            connection.execute("drop table item")
            for statement in load_statements(work_of(StatementWorkload(rows=1000))):
                connection.execute(statement.encode())
            # pg_hba.conf rejects this user where it comes without TLS
            connection.execute("create user refused")
            connection.execute("grant select on item to public")
        yield running


@pytest.mark.parametrize(
    ("parameters", "encrypted"),
    [
        ("hostaddr=127.0.0.1&sslmode=require", True),
        ("host=localhost&sslmode=verify-full&sslrootcert={folder}/ca.crt", True),
        ("hostaddr=127.0.0.1&sslmode=disable", False),
        # libpq knows no TLS on a Unix socket, whatever the mode
        ("host={folder}&sslmode=require", False),
    ],
)
def test_the_load_goes_the_way_that_the_address_says(
    lab: Lab, server: servers.Server, parameters: str, encrypted: bool
) -> None:
    if encrypted and not server.tls:
        pytest.skip("this PostgreSQL is built without TLS")
    user = "refused" if encrypted else "postgres"
    dsn = f"postgresql://{user}@/postgres?port={server.port}&{parameters.format(folder=server.folder)}"
    if "hostaddr" in dsn:
        # a name that does not exist: only hostaddr leads to the server
        dsn += "&host=nowhere.invalid"
    study = small_study(lab.folder, subject="postgres", blocks=1)
    text = study.read_text().replace('kind = "postgres"', f'kind = "postgres"\ndsn = "{dsn}"')
    study.write_text(text)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    assert_done(bundle)
    # its CPUs are not ours to see
    placement = bundle.environment["placement"]
    assert (placement["server_cpus"], placement["apart"]) == ([], False)
    about = about_bundle(bundle)
    assert about.engine["CPUs of the server"] == "not known: it is at an address"
    assert not about.resets_server
    # its processes are on this machine
    roles = "select distinct entity from samples where monitor = 'processes' and metric = 'cpu_ns_total'"
    assert set(bundle.columns(roles)["entity"]) == {"engine", "monitors", "server"}
    assert "CPU/txn" in done.stdout
    explained = bundle.columns("select distinct option from rehearsal where plan is not null")["option"]
    assert len(explained) == 2


def test_temporary_files_are_a_cost_of_each_option(lab: Lab, server: servers.Server) -> None:
    sort = "select sum(r) from (select row_number() over (order by filler, id) as r from item) s"
    levels = at_address.LEVELS.format("session", "work_mem", '"64kB"', '"64MB"')
    study = at_address.study(lab.folder, at_address.direct(server), sort, factor=levels)
    study.write_text(study.read_text().replace("measure_s = 0.3", "measure_s = 2.5"))
    done = lab.run("run", study, "--bundle", lab.bundle, "--json")
    assert done.returncode == 0, done.stderr
    values = r'"temp_bytes_per_txn",\s+"option": "(\w)",\s+"clients": null,\s+"value": ([\d.]+)'
    shown = {option: float(value) for option, value in re.findall(values, done.stdout)}
    assert shown["A"] > 10_000
    assert shown["B"] == 0


def test_processes_behind_a_pooler_are_not_taken_for_the_server(lab: Lab, server: servers.Server) -> None:
    with servers.pooled(server, pool_mode="session", default_pool_size=30) as port:
        study = at_address.study(lab.folder, f"postgresql://postgres@127.0.0.1:{port}/postgres")
        done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    roles = "select distinct entity from samples where monitor = 'processes'"
    assert "server" not in set(Bundle(lab.bundle).columns(roles)["entity"])


def test_a_refused_address_is_bad_input_and_leaves_no_bundle(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1)
    dsn = "postgresql://a@127.0.0.1:1/d?connect_timeout=3"
    study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "postgres"\ndsn = "{dsn}"'))
    refused = lab.run("run", study, "--bundle", lab.bundle)
    assert refused.returncode == 2
    assert "connect_timeout" in refused.stderr
    assert not lab.bundle.exists()


def test_sampled_waits_are_not_promised_where_this_user_may_not_see_them() -> None:
    ((_, text),) = Tranches(None, "none", lambda _: {}).notices()
    assert text.endswith("sampled wait events are, as far as this user can see them")
