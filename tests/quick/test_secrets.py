"""Passwords that are written in settings are refused with their line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from laboratory import Lab

PLAN = "[plan]\nclients = [1]\nwarm_up_s = 0\nmeasure_s = 0.3\ncool_down_s = 0\nblocks = 1\n"
VALUES = {name: f"canary'{name} 9\"&x" for name in ("KV", "LEFT", "RIGHT")} | {
    "PLACE": "canary-place",
    "OWNER": "canary_owner",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)


def study(lab: Lab, text: str) -> Path:
    file = lab.folder / "study.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("settings.primary_conninfo = 'host=db1 user=rep password=Zq77qZ'", "settings.primary_conninfo"),
        ("settings.archive_command = 'PGPASSWORD=Zq77qZ pg_basebackup'", "settings.archive_command"),
        ("settings.restore_command = 'curl https://me:Zq77qZ@h/%f'", "settings.restore_command"),
        ("settings.ssl_passphrase_command = 'echo Zq77qZ'", "settings.ssl_passphrase_command"),
        ("session = { 'lab.password' = 'Zq77qZ' }", "session.lab.password"),
        ("session.options = '-c lab.token=Zq77qZ'", "session.options"),
    ],
)
def test_a_password_in_a_setting_is_refused_with_its_line(lab: Lab, line: str, place: str) -> None:
    text = f'name = "s"\nquestion = "?"\n[subject]\nkind = "postgres"\n{line}\n{PLAN}'
    done = lab.run("run", study(lab, text), "--bundle", lab.bundle)
    assert done.returncode == 2
    where = rf"study\.toml:5: subject\.{re.escape(place)}: .*: a password in the study would be copied"
    assert re.search(where, done.stderr)
    assert "Zq77qZ" not in done.stderr and not lab.bundle.exists()


def test_a_password_in_a_level_is_refused_with_its_line(lab: Lab) -> None:
    text = f"""name = "s"
question = "?"
subject.kind = "postgres"
[factors.standby]
scope = "server"
setting = "primary_conninfo"
levels.A = "host=db1 passfile=/p"
levels.B = "host=db1 password=Zq77qZ"
{PLAN}"""
    done = lab.run("run", study(lab, text), "--bundle", lab.bundle)
    assert done.returncode == 2
    assert "study.toml:8: factors.standby.levels.B: primary_conninfo: a password" in done.stderr
    assert "Zq77qZ" not in done.stderr
