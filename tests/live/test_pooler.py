"""pgbouncer in front of PostgreSQL: clients share its sessions, and its CPU counts apart."""

from __future__ import annotations

import pytest
from laboratory import Lab
from needs import needs

from steelyard.analysis.metrics.run_metrics import compute_run_metrics
from steelyard.bundle.reader import Bundle

STUDY = """\
name = "small"
question = "Direct or pooled?"
[subject]
kind = "postgres"
[workload]
rows = 1000
handle = "unnamed"
[factors.pooler]
scope = "server"
[factors.pooler.levels]
DIRECT = { pooler = "none" }
POOLED = { pooler = "pgbouncer", pgbouncer.default_pool_size = 2 }
[plan]
clients = [6]
warm_up_s = 0.2
measure_s = 0.5
cool_down_s = 0.1
blocks = 1
[monitors]
processes = 5
postgres = 5
"""


@pytest.fixture(autouse=True)
def installed() -> None:
    needs("pgbouncer")


def test_the_clients_of_a_pooler_share_its_sessions(lab: Lab) -> None:
    study = lab.folder / "pooled.toml"
    study.write_text(STUDY)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    seen = bundle.columns(
        "select r.option, max(s.value) filter (metric = 'sessions') as sessions,"
        " max(s.value) filter (s.entity = 'pooler' and metric = 'cpu_ns_total') as front_ns"
        " from samples s join runs r using (run) group by all order by r.option"
    )
    by_option = {
        o: (s, f) for o, s, f in zip(seen["option"], seen["sessions"], seen["front_ns"], strict=True)
    }
    assert by_option["DIRECT"][0] == 6
    assert by_option["POOLED"][0] == 2 and by_option["POOLED"][1] > 0
    # clients need server and pooler, so the cost of a transaction is that of both
    evidence = bundle.evidence()
    measured = compute_run_metrics(evidence)
    rates = zip(
        *(evidence.view("rates")[name] for name in ("run", "entity", "metric", "rate_per_s")), strict=True
    )
    of_role = {(run, entity): rate for run, entity, metric, rate in rates if metric == "cpu_ns_total"}
    for row, run in enumerate(measured.run):
        both = of_role[run, "server"] + of_role.get((run, "pooler"), 0)
        per_s = measured.values["throughput_per_s"][row]
        assert measured.values["server_cpu_us_per_txn"][row] == pytest.approx(both / per_s / 1000)
    assert {entity for _, entity in of_role} >= {"server", "pooler"}
    assert lab.ours() == [] and lab.traces() == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"unnamed"', '"named"', "does not support prepared statements"),
        (
            'pooler = "pgbouncer"',
            'pooler = "pgbuncer"',
            'unknown pooler "pgbuncer"; did you mean "pgbouncer"?',
        ),
        ('pooler = "none"', 'pooler = "none", pgbouncer.pool_mode = "session"', "it has no pooler"),
        ('"postgres"', '"postgres"\nsession = { work_mem = "1MB" }', "session settings are unreliable"),
    ],
)
def test_what_cannot_go_through_a_pooler_is_refused(lab: Lab, old: str, new: str, said: str) -> None:
    study = lab.folder / "pooled.toml"
    study.write_text(STUDY.replace(old, new, 1))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_a_setting_that_the_pooler_does_not_take_stops_the_study(lab: Lab) -> None:
    study = lab.folder / "pooled.toml"
    study.write_text(STUDY.replace("default_pool_size = 2", "no_such_thing = 2"))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode != 0 and "no_such_thing" in done.stderr
    assert lab.ours() == []
