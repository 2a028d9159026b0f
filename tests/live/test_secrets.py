"""The value of each ${NAME} of a study is in no file and no message, whatever the names are."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import duckdb
import pytest
from java_engine import needs_java
from laboratory import Lab

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
def test_values_of_a_driver_under_harmless_names_are_in_no_file_of_a_bundle(lab: Lab) -> None:
    """In a part of the URL that is no password, a property, a factor's levels, and a fact in upper case."""
    rest = (
        'schema_sql = "create table item (id int primary key); insert into item values (1)"\n'
        'driver_properties = { keyVaultProviderClientKey = "${KV}", user = "${OWNER}", label = "-",'
        ' territory = "en_US" }'
    )
    text = DRIVEN.format(
        driver=DERBY,
        url="jdbc:derby:{folder}/${PLACE};create=true",
        facts='subject.facts = { owner = "values current_user" }',
        rest=rest,
        sql="select id from item",
    )
    levels = '[factors.label]\nscope = "client"\nsetting = "driver_properties.label"\n'
    levels += 'levels = { A = "${LEFT}", B = "${RIGHT}" }\n'
    done = lab.run("run", study(lab, text + levels + PLAN), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    for name in ("driver.keyVaultProviderClientKey", "driver.label", "fact.owner"):
        assert [bundle.setting(option, name) for option in "AB"] == ["[redacted]"] * 2, name
    assert bundle.setting("A", "driver.territory") == "en_US"
    assert not leaks(kept(lab, done))
    assert lab.run("report", lab.bundle, "--json").returncode == 0


PROGRAM = """
name = "s"
question = "?"
subject.kind = "program"
[workload]
kind = "program"
command = ["sh", "-c", '{says}']
environment = {{ MY_SETTING = "host ${{LEFT}}", WORD = "-" }}
[factors.word]
scope = "client"
setting = "env.WORD"
levels = {{ A = "${{RIGHT}}", B = "x${{RIGHT}}" }}
"""


def test_what_a_program_prints_of_its_variables_is_in_no_file(lab: Lab) -> None:
    says = 'echo "no $MY_SETTING: $WORD"; echo "$MY_SETTING" | tr a-z A-Z >&2; exit 7'
    text = PROGRAM.format(says=says) + PLAN
    done = lab.run("run", study(lab, text), "--bundle", lab.bundle)
    assert done.returncode == 1
    found = kept(lab, done)
    assert not leaks(found)
    assert any("no host [redacted]" in text for text in found.values())
