"""jTDS against a server that counts: every row of the documentation."""

from __future__ import annotations

from fake_tds.server import fake_tds
from java_engine import needs_java
from jtds_study import CLIENTS, JTDS, STUDY, Way, documented, sent
from laboratory import Lab

pytestmark = needs_java

WAYS = [
    Way("none", 0),
    Way("none", 1),
    *(Way("named", prepare) for prepare in range(4)),
    Way("named", 1, 0),
    *(Way("per-use", prepare) for prepare in range(4)),
    Way("per-use", 1, 0),
    Way("per-use", 0, 2, "unique"),
    Way("per-use", 1, 2, "unique"),
    Way("named", 1, 500, "refused"),
    Way("per-use", 1, 0, "refused"),
]


def test_requests_of_each_setting_are_those_of_the_documentation(lab: Lab) -> None:
    documented(lab, WAYS)


def test_a_wrong_password_of_ase_is_an_error_of_the_study(lab: Lab) -> None:
    file = lab.folder / "study.toml"
    levels = "\n".join(way.level for way in WAYS[:2])
    with fake_tds() as server:
        file.write_text(STUDY.format(port=server.port, driver=JTDS, clients=1, levels=levels, more=""))
        done = lab.run("run", file, "--bundle", lab.bundle, TDS_PASSWORD="wrong")
    assert done.returncode == 2
    assert "/shop: Login failed" in " ".join(done.stderr.split())
    assert not lab.ours() and not lab.traces()


def test_a_commit_is_a_batch_of_its_own(lab: Lab) -> None:
    more = '[workload.transactions.pair]\nstatements = ["find", "find"]\nbegin = true\n'
    with fake_tds() as server:
        bound, prepared = sent(lab, server, [Way("named", 0), Way("named", 1)], more).values()
    for counts, kind in ((bound, "language with parameters"), (prepared, "execute")):
        assert 0 <= counts.commits - counts.transactions <= CLIENTS
        assert 0 <= counts.requests[kind] - 2 * counts.transactions <= 2 * CLIENTS
    assert prepared.requests["prepare"] == CLIENTS
