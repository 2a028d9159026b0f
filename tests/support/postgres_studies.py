"""Studies of PostgreSQL's settings, builds and versions."""

from __future__ import annotations

import subprocess
from pathlib import Path

from laboratory import Lab, small_study

from steelyard.bundle.reader import Bundle
from steelyard.subjects.postgres.binaries import embedded_bindir, installed_bindirs

HANDLES = 'scope = "client"\nlevels = { simple = "none", named = "named" }'


def with_lines(study: Path, lines: str) -> None:
    """Adds lines to [subject]."""
    study.write_text(study.read_text().replace('kind = "postgres"', f'kind = "postgres"\n{lines}'))


def build_at(folder: Path) -> Path:
    """The embedded server's programs once more, laid out as in a virtual environment."""
    source = embedded_bindir()
    assert source is not None
    package = source.parents[1]
    folder.mkdir(exist_ok=True)
    for part in (package, package.with_name(f"{package.name}.libs")):
        subprocess.run(["cp", "-r", str(part), str(folder)], check=True)
    return folder / package.name / source.relative_to(package)


def refuses_a_session_setting(lab: Lab, session: str, told: str) -> None:
    """One that the server does not take fails the study by its name."""
    study = small_study(lab.folder, subject="postgres", blocks=1)
    with_lines(study, f"session = {{ {session} }}")
    ended = lab.run("run", study, "--bundle", lab.bundle)
    # refused by the server, or taken otherwise than given, which is found by reading back
    assert ended.returncode == 2
    name = session.partition(" ")[0]
    assert f"subject.session.{name}: option " in ended.stderr and told in ended.stderr
    assert not lab.bundle.exists()
    assert not lab.ours()


def has_checksums_in_two_versions(lab: Lab, line: str, held: str, expected: set[str]) -> None:
    """A study of an installed and the embedded version runs, and says how its checksums are."""
    study = small_study(lab.folder, subject="postgres", blocks=1)
    old = installed_bindirs()[0]
    levels = f'scope = "version"\nsetting = "bindir"\nlevels = {{ OLD = "{old}", NEW = "embedded" }}'
    study.write_text(study.read_text().replace(HANDLES, levels))
    if line:
        with_lines(study, line)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert held in done.stderr and ("\nheld " in done.stderr) == bool(held)
    bundle = Bundle(lab.bundle)
    assert {bundle.setting(option, "data_checksums") for option in ("OLD", "NEW")} == expected
    assert ("Servers differ beside the factor" in done.stdout) == (len(expected) > 1)
    rows = bundle.columns("select option, status from runs")
    assert sorted(rows["option"]) == ["NEW", "OLD"]
    assert set(rows["status"]) == {"done"}
