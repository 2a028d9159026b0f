"""The file of hosts, and studies whose subject other hosts cannot load."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from steelyard.errors import InputError
from steelyard.fleet.connection import Connection
from steelyard.fleet.place import refuse_unlike
from steelyard.study.load_study import fleet_of
from steelyard.study.overrides import adjusted
from steelyard.subjects.servers.network import listening
from steelyard.version import VERSION
from steelyard.workflow.prepare import PreparedStudy

HOSTS = """
[fleet.hosts.db]
address = "127.0.0.1"
roles = ["lab"]
[fleet.hosts.load1]
address = "127.0.0.2"
roles = ["load"]
[fleet.hosts.load2]
address = "one.example"
roles = ["load"]
"""


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    (tmp_path / "hosts.toml").write_text(HOSTS)
    return tmp_path / "hosts.toml"


def prepared(study: str, hosts: Path) -> PreparedStudy:
    own = adjusted(study, fleet=hosts)
    return PreparedStudy.of(own.text, own.origin)


def test_the_study_keeps_the_hosts_of_the_file_and_its_folder(hosts: Path) -> None:
    fleet = prepared("demo", hosts).study.fleet
    assert fleet is not None
    assert fleet == fleet_of(hosts)
    assert fleet.with_role("load") == ["load1", "load2"]
    assert fleet.folder == str(hosts.parent / "fleet")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('roles = ["load"]', 'roles = ["lab"]', "no host has the role load"),
        ('roles = ["load"]', 'roles = ["load", "lab"]', "more than one host has the role lab: db, load1"),
        ('roles = ["load"]', 'roles = ["server"]', 'unknown roles "server"'),
        ('roles = ["lab"]', 'roles = ["lab", "load"]', "db: the lab's host has the server"),
        ('address = "127.0.0.2"', "", 'missing key "address"'),
        ("[fleet.", "[flett.", r"has no \[fleet\]"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(hosts: Path, old: str, new: str, error: str) -> None:
    hosts.write_text(HOSTS.replace(old, new, 1 if '"load", "lab"' in new else -1))
    with pytest.raises(InputError, match=error) as refused:
        fleet_of(hosts)
    assert str(hosts) in str(refused.value)


@pytest.mark.parametrize(
    ("study", "error"),
    [
        ("complex-queries", "one host plays the rounds or sessions"),
        ("kernel-mode-sqlite", "other hosts cannot load SQLite that the lab starts"),
        ("child-latches", "other hosts cannot load"),
    ],
)
def test_what_other_hosts_cannot_load_is_refused(hosts: Path, study: str, error: str) -> None:
    with pytest.raises(InputError, match=error):
        prepared(study, hosts)


def test_a_server_needs_the_host_of_the_lab(hosts: Path) -> None:
    hosts.write_text("[fleet.hosts.load1]" + HOSTS.partition("[fleet.hosts.load1]")[2])
    with pytest.raises(InputError, match="no host has the role lab"):
        prepared("demo", hosts)


def test_a_server_admits_the_hosts_alone_each_time_with_another_password(hosts: Path) -> None:
    study = prepared("demo", hosts).study
    first, second = listening(study, 5432), listening(study, 5432)
    assert first.address == "127.0.0.1"
    assert list(first.networks) == ["127.0.0.1/32", "127.0.0.2/32", "one.example"]
    assert first.password != second.password and len(first.password or "") > 20
    assert first.password not in repr(first)


def test_without_a_fleet_a_server_listens_nowhere_but_on_its_socket() -> None:
    own = adjusted("demo")
    study = PreparedStudy.of(own.text, own.origin).study
    assert (listening(study, 5432).address, listening(study, 5432).password) == ("", None)


def test_an_address_of_another_machine_is_refused(hosts: Path) -> None:
    hosts.write_text(HOSTS.replace("127.0.0.1", "192.0.2.1"))
    with pytest.raises(InputError, match=r"192\.0\.2\.1 is no address of this machine"):
        listening(prepared("demo", hosts).study, 5432)


def test_hosts_of_another_version_are_refused_by_name() -> None:
    refuse_unlike({"load1": {"version": VERSION}})
    with pytest.raises(InputError, match=r"0\.0\.1 on load2"):
        refuse_unlike({"load1": {"version": VERSION}, "load2": {"version": "0.0.1"}})


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "one.example", "::"])
def test_a_fleet_without_encryption_is_refused_beyond_this_machine(hosts: Path, address: str) -> None:
    own = f"[fleet]\ntls = false\n{HOSTS}"
    hosts.write_text(own.replace("one.example", address))
    with pytest.raises(InputError, match=f"tls = false at {address}: whoever reaches it could run any"):
        fleet_of(hosts)
    for here in ("localhost", "::1"):
        hosts.write_text(own.replace("one.example", here))
        assert not fleet_of(hosts).tls


def test_a_scheduler_elsewhere_is_not_reached_without_encryption(hosts: Path) -> None:
    hosts.write_text(f"[fleet]\ntls = false\n{HOSTS}".replace("one.example", "127.0.0.3"))
    folder = hosts.parent / "fleet"
    folder.mkdir()
    for host, refused in (("127.0.0.1", False), ("[::1]", False), ("192.0.2.1", True), ("0.0.0.0", True)):
        (folder / "scheduler.json").write_text(json.dumps({"address": f"tcp://{host}:8786"}))
        with pytest.raises(InputError, match=r"tls = false at") if refused else nullcontext():
            Connection.of(fleet_of(hosts), folder)
