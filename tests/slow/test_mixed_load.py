"""The report of a study of reports beside order entry."""

from __future__ import annotations

from laboratory import Lab
from mixed_load import study_text

from steelyard.bundle.reader import Bundle


def test_the_report_judges_order_entry_and_says_what_reports_were_made(lab: Lab) -> None:
    study = lab.folder / "mixed.toml"
    # any user may have this policy; nice has an effect only where root turned autogroups off
    text = study_text().replace("sysctl.kernel.sched_autogroup_enabled = 0\n", "")
    study.write_text(text.replace('"other", report.nice = 15', '"batch"'))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "throughput" in text and "latency p99" in text and "server CPU per transaction" not in text
    page = " ".join((lab.bundle / "report.html").read_text().split())
    assert "reports beside order entry, whose transactions and latency do not count them" in page
    found = Bundle(lab.bundle).columns(
        "select option, sum(count) as n from transactions join runs using (run)"
        " where transaction = 'report' group by all"
    )
    assert set(found["option"].tolist()) == {"SAME", "LATE"} and max(found["n"]) > 0
