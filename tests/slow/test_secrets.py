"""The value of each ${NAME} of a study is in no file and no message: drivers and endings."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from subprocess import CompletedProcess

import duckdb
import pytest
from java_engine import PGJDBC, needs_java
from laboratory import Lab, text_of

from steelyard.bundle.reader import Bundle

PLAN = "[plan]\nclients = [1]\nwarm_up_s = 0\nmeasure_s = 0.3\ncool_down_s = 0\nblocks = 1\n"
DERBY = "org.apache.derby:derby:10.16.1.1"
DRIVEN = """
name = "s"
question = "?"
subject.kind = "jdbc"
{facts}
[workload]
kind = "sql"
driver = "{driver}"
driver_heap_mib = 64
driver_url = "{url}"
{rest}
[workload.statements.one]
sql = "{sql}"
"""
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


def kept(lab: Lab, done: CompletedProcess[str]) -> dict[str, str]:
    """All that a study leaves: its messages, and by file its bytes and the values of its tables."""
    found = {"stdout": done.stdout, "stderr": done.stderr}
    for place in (path for path in lab.bundle.rglob("*") if path.is_file()):
        name = str(place.relative_to(lab.bundle))
        found[name] = place.read_bytes().decode(errors="replace")
        if place.suffix == ".parquet":
            # pages of values may be compressed
            found[name] += str(duckdb.read_parquet(str(place)).fetchall())
    return found


def leaks(found: dict[str, str], word: str = "canary") -> list[str]:
    return [f"{name}: {text[at - 60 :][:120]}" for name, text in found.items()
            if (at := text.lower().find(word)) >= 0]  # fmt: skip


@needs_java
@pytest.mark.parametrize(
    ("driver", "url"),
    [
        (DERBY, "jdbc:derby:{folder}/${PLACE}"),
        ("com.h2database:h2:2.3.232", "jdbc:h2:{folder}/${PLACE};IFEXISTS=TRUE"),
        (PGJDBC, "jdbc:postgresql://127.0.0.1:1/x?sslmode=${PLACE}"),
    ],
)
def test_a_driver_that_cannot_connect_repeats_the_url_without_values(lab: Lab, driver: str, url: str) -> None:
    text = DRIVEN.format(driver=driver, url=url, facts="", rest="", sql="select 1") + PLAN
    done = lab.run("run", study(lab, text), "--bundle", lab.bundle)
    assert done.returncode == 2
    assert "the driver cannot connect" in done.stderr and "[redacted]" in done.stderr
    assert not leaks(kept(lab, done))


@needs_java
def test_a_server_and_its_monitors_do_not_see_the_variables_of_the_study(lab: Lab) -> None:
    """SQL that reads the server's environment fails the study where it finds them."""
    reads = (
        "create table seen (line text); copy seen from program 'env';"
        " do 'begin if exists (select from seen where line ~ ''PLACE='') then"
        " raise ''the server has it''; end if; end'"
    )
    text = DRIVEN.format(
        driver=PGJDBC, url="", facts="", sql="select 1",
        rest=f'schema_sql = "{reads}"\ndriver_properties = {{ ApplicationName = "${{PLACE}}" }}',
    ).replace("jdbc", "postgres", 1).replace('driver_url = ""\n', "")  # fmt: skip
    text += (
        '[monitors.sessions]\nsql = "select application_name as name, 1 as n from pg_stat_activity'
        ' where application_name like \'canary%\' group by 1"\nby = "name"\ngauges = ["n"]\n'
    )
    done = lab.run("run", study(lab, text + PLAN), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    entities = "select distinct entity from samples where monitor = 'sessions'"
    assert Bundle(lab.bundle).columns(entities)["entity"] == ["[redacted]"]
    assert not leaks(kept(lab, done), "canary-place")


@needs_java
def test_a_killed_lab_leaves_no_value_in_a_file_while_a_driver_logs_in(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(60)
        url = f"jdbc:postgresql://127.0.0.1:{mute.getsockname()[1]}/x?user=u"
        rest = 'driver_properties = { password = "${KV}", ApplicationName = "${PLACE}" }'
        text = DRIVEN.format(driver=PGJDBC, url=url, facts="", rest=rest, sql="select 1") + PLAN
        process = lab.start("run", study(lab, text), "--bundle", lab.bundle)
        with mute.accept()[0]:
            lines = [text_of(pid, "cmdline") for pid in lab.ours()]
            assert any("steelyard.Main" in line for line in lines) and "canary" not in str(lines)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            files = {str(path): path.read_bytes().decode(errors="replace")
                     for path in lab.folder.rglob("*") if path.is_file()}  # fmt: skip
            assert not leaks(files)
    lab.wait_for(lambda: not lab.ours(), "the end of Java")
