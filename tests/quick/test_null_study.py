"""A whole study without a server: it starts, runs its blocks, reads its own bundle and reports."""

from __future__ import annotations

from laboratory import Lab

from steelyard.bundle.reader import Bundle

STUDY = """\
name = "null"
question = "Which way?"
subject = { kind = "null" }
plan = { clients = [2], warm_up_s = 0.05, measure_s = 0.2, cool_down_s = 0, blocks = 2, turns = false }
workload = { kind = "sql", statements.one.sql = "select 1" }
[factors.handle]
scope = "client"
levels = { TEXT = "none", UNNAMED = "unnamed" }
"""


def test_a_study_without_a_server_ends_with_its_report(lab: Lab) -> None:
    (lab.folder / "n.toml").write_text(STUDY)
    ended = lab.run("run", "n.toml", "--bundle", "n.bundle")
    assert ended.returncode == 0, ended.stderr
    assert (lab.folder / "n.bundle" / "report.html").stat().st_size > 0
    runs = Bundle(lab.folder / "n.bundle").columns("select status from runs")
    assert runs["status"].tolist() == ["done"] * 4
