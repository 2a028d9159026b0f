"""PostgreSQL as a subject: further settings, two builds of one version, checksums of two versions."""

from __future__ import annotations

import pytest
from in_process import measured
from laboratory import Lab, small_study
from postgres_studies import HANDLES, build_at, has_checksums_in_two_versions, refuses_a_session_setting


@pytest.mark.parametrize(
    ("session", "told"),
    [
        ("wrok_mem = '5MB'", 'unrecognized configuration parameter "wrok_mem"'),
        ("work_mem = 'much'", 'invalid value for parameter "work_mem"'),
        ("shared_buffers = '1GB'", 'parameter "shared_buffers" cannot be changed'),
    ],
)
def test_a_session_setting_that_the_server_does_not_take_fails_the_study_by_name(
    lab: Lab, session: str, told: str
) -> None:
    refuses_a_session_setting(lab, session, told)


@pytest.mark.needs("PostgreSQL")
@pytest.mark.parametrize(
    ("line", "held", "expected"),
    [
        ('data_checksums = "off"', "held     data checksums are off in every option (subject.data", {"off"}),
        ('data_checksums = "server"', "", {"on", "off"}),
    ],
)
def test_two_versions_have_the_checksums_that_the_study_says(
    lab: Lab, line: str, held: str, expected: set[str]
) -> None:
    has_checksums_in_two_versions(lab, line, held, expected)


def test_two_builds_of_one_version_do_not_share_their_data(lab: Lab) -> None:
    lab.folder.chmod(0o755)
    levels = [f'{name} = "{build_at(lab.folder / name)}"' for name in ("A", "B")]
    # each build's initdb makes data directories of its own
    (sample,) = (lab.folder / "B").rglob("postgresql.conf.sample")
    sample.write_text(sample.read_text() + "\nwork_mem = '5MB'\n")
    study = small_study(lab.folder, subject="postgres", blocks=1)
    version = f'scope = "version"\nsetting = "bindir"\nlevels = {{ {", ".join(levels)} }}'
    bundle = measured(study.read_text().replace(HANDLES, version), str(study), lab.folder)
    servers = bundle.environment["servers"]
    assert servers["A"]["version"] == servers["B"]["version"]
    assert "work_mem" not in servers["A"]["set"]
    assert servers["B"]["set"]["work_mem"] == "5MB"
