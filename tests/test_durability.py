"""Durability: servers commit as their own defaults have it; the fast way is a choice that everybody sees."""

from __future__ import annotations

import json

import pytest

from laboratory import Lab, small_study
from mariadb_server import needs_mariadb
from steelyard.bundle.reader import Bundle
from steelyard.study.errors import InputError
from steelyard.workflow.prepare import PreparedStudy

STUDY = """\
name = "durability"
question = "Which?"
subject = { kind = "null", durability = "off" }

[factors.handle]
scope = "client"
levels = { A = "none", B = "named" }
"""


def settings_in(bundle: Bundle) -> dict[str, str]:
    """Settings of the first option's server that are not its defaults."""
    servers = bundle.environment["servers"]
    return next(iter(servers.values()))["set"]


@pytest.mark.server
@pytest.mark.parametrize("durability", ["server", "off"])
@pytest.mark.parametrize("kind", ["postgres", "mariadb", "sqlite"])
def test_commits_wait_for_storage_unless_the_study_says_otherwise(
    lab: Lab, kind: str, durability: str
) -> None:
    if kind == "mariadb":
        needs_mariadb()
    study = small_study(lab.folder, kind)
    study.write_text(study.read_text().replace(f'"{kind}"', f'"{kind}"\ndurability = "{durability}"'))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    off = durability == "off"
    shown = settings_in(Bundle(lab.bundle))
    name, value = {
        "postgres": ("fsync", "off"),
        "mariadb": ("INNODB_FLUSH_LOG_AT_TRX_COMMIT", "0"),
        "sqlite": ("synchronous", "0"),
    }[kind]
    kept = {key.lower(): str(content).lower() for key, content in shown.items()}
    assert (kept.get(name.lower()) == value) is off
    assert "autovacuum" not in kept
    assert ("durability off" in done.stderr) is off
    page = (lab.bundle / "report.html").read_text()
    assert ("durability is off" in page) is off
    judgement = json.loads(lab.run("report", lab.bundle, "--json").stdout)["judgement"]
    assert ("durability-off" in {notice["code"] for notice in judgement["notices"]}) is off


def test_a_subject_that_commits_nothing_has_no_durability() -> None:
    with pytest.raises(InputError, match=r"subject\.durability: .* has no durability to switch off"):
        PreparedStudy.of(STUDY, "my.toml")
