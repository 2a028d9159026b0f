"""The lab's own connections to MariaDB and MySQL, where the server is after the password."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pymysql
import pytest
from hostile_server import Peer, Thief, hostile
from laboratory import Lab, small_study
from mariadb_server import mariadb
from needs import needs
from servers import plan

from steelyard import _core
from steelyard.host.mariadb_login import log_in, parse, remedy
from steelyard.monitors import Target, Unavailable
from steelyard.monitors.mariadb import MariaDBMonitor

OWN = 'kind = "sql"\n[workload.statements.one]\nsql = "select filler from item where id = 7"'
METHODS = [b"mysql_clear_password", b"dialog"]


@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize("plugin", METHODS)
def test_a_monitor_does_not_show_the_password_over_tcp(plugin: bytes, switch: bool) -> None:
    thief = Thief(plugin, switch)
    with hostile(thief) as at, pytest.raises(Unavailable, match=f"{plugin.decode()}.*tls=require"):
        MariaDBMonitor().open(Target(dsn=f"mysql://u:opensesame@127.0.0.1:{at['port']}/d"))
    assert len(thief.heard) == 1 and b"opensesame" not in thief.heard[0]


def study_at(lab: Lab, dsn: str) -> Path:
    study = small_study(lab.folder, "mariadb", blocks=1, think_ms=0)
    study.write_text(study.read_text().replace('"mariadb"', f'"mariadb"\ndsn = "{dsn}"'))
    return study


def refused(lab: Lab, serve: Callable[[Peer], None], more: str = "") -> str:
    """What a study on such a server says, which ends with exit code 2."""
    with hostile(serve) as at:
        study = study_at(lab, f"mysql://u:${{LAB_PASSWORD}}@127.0.0.1:{at['port']}/d{more}")
        done = lab.run("run", study, "--bundle", lab.bundle, LAB_PASSWORD="opensesame")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("plugin", METHODS)
def test_a_lab_does_not_show_the_password_over_tcp(lab: Lab, plugin: bytes) -> None:
    thief = Thief(plugin, switch=True)
    said = refused(lab, thief)
    assert plugin.decode() in said and "tls=require" in said
    assert not any(b"opensesame" in heard for heard in thief.heard)


def test_a_monitor_shows_the_password_to_a_server_behind_a_unix_socket(tmp_path: Path) -> None:
    thief = Thief(b"mysql_clear_password", switch=True)
    with hostile(thief, tmp_path / "s") as at:
        MariaDBMonitor().open(Target(dsn=f"mysql://u:opensesame@localhost/d?socket={at['socket']}"))
    assert thief.heard[1] == b"opensesame\0"


@pytest.mark.parametrize("plugin", ["parsec", "auth_gssapi_client", "mysql_old_password"])
def test_a_method_that_is_not_supported_is_named(lab: Lab, plugin: str) -> None:
    said = refused(lab, Thief(plugin.encode(), switch=True))
    assert f"the password by {plugin}, which is not supported" in said
    assert "an account that logs in by mysql_native_password or caching_sha2_password" in said


def test_a_certificate_of_the_client_is_not_supported(lab: Lab) -> None:
    said = refused(lab, Thief(b"mysql_native_password", switch=True), "?ssl_cert=/c.pem&ssl_key=/k.pem")
    assert "ssl_cert: client certificates are not supported" in said and "an account with a password" in said


@pytest.mark.parametrize(
    ("method", "package"), [(b"client_ed25519", "pynacl"), (b"caching_sha2_password", "cryptography")]
)
def test_a_package_that_a_method_needs_is_named(
    monkeypatch: pytest.MonkeyPatch, method: bytes, package: str
) -> None:
    monkeypatch.setitem(sys.modules, "nacl", None)
    monkeypatch.setattr("pymysql._auth._nacl_bindings", False)
    monkeypatch.setattr("pymysql._auth._have_cryptography", False)

    def ask(peer: Peer) -> None:
        peer.my_send(peer.my_greeting())
        peer.my_receive()
        peer.my_send(b"\xfe" + method + b"\0" + bytes(range(1, 33)))
        peer.my_receive()
        peer.my_send(b"\x01\x04")
        peer.my_receive()
        peer.my_send(b"\x01key")

    with hostile(ask) as at, pytest.raises(pymysql.OperationalError) as failed:
        log_in(parse(f"mysql://u:opensesame@127.0.0.1:{at['port']}/d"))
    assert package in str(failed.value) and "pip install 'pymysql[rsa,ed25519]'" in str(failed.value)
    assert "another way" in remedy(failed.value)


def test_an_account_by_ed25519_is_let_in(lab: Lab) -> None:
    needs("MariaDB")
    with mariadb("--plugin-load-add=auth_ed25519") as server:
        server.ask("create user signed@'%' identified via ed25519 using password('opensesame')")
        server.ask("grant all on *.* to signed@'%'")
        at = server.endpoint(socket=None, user="signed", password="opensesame")
        asked = plan(at, handle="named")
        result = json.loads(_core.load_run(json.dumps(asked), lambda line: None))
        assert sum(result["clients"]["transactions"]) > 0
        with pytest.raises(_core.LoadError, match="Access denied"):
            _core.load_run(json.dumps({**asked, "server": at | {"password": "wrong"}}), lambda line: None)
        pytest.importorskip("nacl")
        dsn = f"mysql://signed:${{LAB_PASSWORD}}@127.0.0.1:{server.port}/lab"
        study = study_at(lab, dsn)
        study.write_text(study.read_text().replace("rows = 1000", OWN))
        done = lab.run("run", study, "--bundle", lab.bundle, LAB_PASSWORD="opensesame")
        assert done.returncode == 0, done.stderr
