"""The lab's own connections to MariaDB and MySQL, where the server is after the password."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_server import Thief, hostile
from laboratory import Lab, small_study

from steelyard.monitors import Target, Unavailable
from steelyard.monitors.mariadb.counters import MariaDBMonitor

METHODS = [b"mysql_clear_password", b"dialog", b"mysql_old_password"]


@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize("plugin", METHODS)
def test_a_monitor_does_not_show_the_password_over_tcp(plugin: bytes, switch: bool) -> None:
    thief = Thief(plugin, switch)
    with hostile(thief) as at, pytest.raises(Unavailable, match=f"{plugin.decode()}.*tls=require"):
        MariaDBMonitor().open(Target(dsn=f"mysql://u:opensesame@127.0.0.1:{at['port']}/d"))
    assert len(thief.heard) == 1 and b"opensesame" not in thief.heard[0]


@pytest.mark.parametrize("plugin", METHODS)
def test_a_lab_does_not_show_the_password_over_tcp(lab: Lab, plugin: bytes) -> None:
    thief = Thief(plugin, switch=True)
    with hostile(thief) as at:
        study = small_study(lab.folder, "mariadb")
        dsn = f"mysql://u:${{LAB_PASSWORD}}@127.0.0.1:{at['port']}/d"
        study.write_text(study.read_text().replace('"mariadb"', f'"mariadb"\ndsn = "{dsn}"'))
        done = lab.run("run", study, "--bundle", lab.bundle, LAB_PASSWORD="opensesame")
    assert done.returncode == 2 and plugin.decode() in done.stderr and "tls=require" in done.stderr
    assert not any(b"opensesame" in heard for heard in thief.heard)


def test_a_monitor_shows_the_password_to_a_server_behind_a_unix_socket(tmp_path: Path) -> None:
    thief = Thief(b"mysql_clear_password", switch=True)
    with hostile(thief, tmp_path / "s") as at:
        MariaDBMonitor().open(Target(dsn=f"mysql://u:opensesame@localhost/d?socket={at['socket']}"))
    assert thief.heard[1] == b"opensesame\0"
