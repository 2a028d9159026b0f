"""How a study's server commits, and where the study says it."""

from __future__ import annotations

import json

from laboratory import Lab, small_study
from needs import needs

from steelyard.bundle.reader import Bundle


def settings_in(bundle: Bundle) -> dict[str, str]:
    """Settings of the first option's server that are not its defaults."""
    servers = bundle.environment["servers"]
    return next(iter(servers.values()))["set"]


def check_durability(lab: Lab, kind: str, durability: str) -> None:
    if kind == "mariadb":
        needs("MariaDB")
    study = small_study(lab.folder, kind, blocks=1)
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
