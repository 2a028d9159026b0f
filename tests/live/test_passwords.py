"""Secrets in a study: refused where they are written, taken from the environment where it names them."""

from __future__ import annotations

import re

import pytest
from in_process import assert_done
from laboratory import Lab

from steelyard.bundle.reader import Bundle

PROGRAM = """\
name = "copies"
question = "Which?"

[subject]
kind = "program"

[workload]
kind = "program"
command = ["sh", "-c", "test \\"$PGPASSWORD\\" = opensesame && echo bops = {base}"]
variables = { base = 1000 }
environment = { PGPASSWORD = "${LAB_WORD}" }
score = { pattern = 'bops = (\\d+)' }

[factors.base]
scope = "client"
levels = { B1 = 1000, B2 = 2000 }

[plan]
clients = [1]
cool_down_s = 0
blocks = 1
"""


def test_a_program_gets_its_secret_from_the_environment_and_the_bundle_does_not(lab: Lab) -> None:
    study = lab.folder / "study.toml"
    study.write_text(PROGRAM)
    done = lab.run("run", study, "--bundle", lab.bundle, LAB_WORD="opensesame")
    assert done.returncode == 0, done.stderr
    assert_done(Bundle(lab.bundle))
    missing = lab.run("run", study, "--bundle", lab.folder / "other")
    assert missing.returncode == 2 and "LAB_WORD" in missing.stderr


def test_what_a_failing_program_prints_of_a_secret_is_in_no_file_and_no_message(lab: Lab) -> None:
    study = lab.folder / "study.toml"
    says = """command = ["sh", "-c", "echo bops = {base}; echo cannot log in with $PGPASSWORD >&2; exit 7"]"""
    study.write_text(re.sub(r"command = .*", lambda _: says, PROGRAM))
    failed = lab.run("run", study, "--bundle", lab.bundle, LAB_WORD="opensesame")
    assert failed.returncode == 1
    written = [place for place in lab.bundle.rglob("*") if place.is_file()]
    assert any(b"cannot log in with" in place.read_bytes() for place in written)
    cause = str(Bundle(lab.bundle).columns("select cause from runs")["cause"][0])
    assert "cannot log in with" in cause
    everything = "\n".join([cause, failed.stdout, failed.stderr])
    assert "opensesame" not in everything
    assert not [place for place in written if b"opensesame" in place.read_bytes()]


@pytest.mark.parametrize("filler", [3975, 290])
def test_a_secret_at_the_cut_of_what_a_program_printed_is_not_kept_in_part(lab: Lab, filler: int) -> None:
    study = lab.folder / "study.toml"
    prints = "echo password=S3cretCanary1234567890; echo $PGPASSWORD-tail;"
    fills = f"printf 'x%.0s' $(seq {filler});"
    says = f'''command = ["sh", "-c", "{prints} {fills} echo {{base}}; exit 1"]'''
    study.write_text(re.sub(r"command = .*", lambda _: says, PROGRAM))
    failed = lab.run("run", study, "--bundle", lab.bundle, LAB_WORD="opensesame-and-more")
    assert failed.returncode == 1
    everything = failed.stdout + failed.stderr
    everything += "".join(place.read_text() for place in lab.bundle.glob("logs/*.log"))
    everything += str(Bundle(lab.bundle).columns("select cause from runs")["cause"])
    assert "xxxx" in everything
    assert "Canary" not in everything and "sesame" not in everything
