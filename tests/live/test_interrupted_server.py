"""A server that dies, restarts or recovers under load gives no result: the run is void and redone."""

from __future__ import annotations

import pytest
from interrupted_server import check_killed_process, ended
from laboratory import Lab, small_study, under_load
from mariadb_server import mariadb, serving

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.subjects import Load, SubjectFailed
from steelyard.subjects.servers import by_address


def test_a_killed_session_of_a_server_voids_the_run(lab: Lab) -> None:
    check_killed_process(lab, "steelyard")


def test_a_server_at_an_address_that_returns_is_awaited(lab: Lab) -> None:
    with mariadb() as server:
        study = small_study(lab.folder, subject="mariadb", blocks=1, measure_s=3, think_ms=0)
        dsn = f'"mariadb"\ndsn = "mysql://root@localhost/lab?socket={server.socket}"'
        work = 'kind = "sql"\narrival.think_ms = 5\n[workload.statements.one]\n'
        work += 'sql = "select filler from item where id = 7"'
        study.write_text(study.read_text().replace('"mariadb"', dsn).replace("rows = 1000", work))
        lab.start("run", study, "--bundle", lab.bundle)
        lab.wait_for(lambda: under_load(lab), "a run under load")
        server.process.kill()
        server.process.wait()
        lab.wait_for(lambda: lab.runs() == 1, "the void run")
        with serving(server.folder, ()):
            status, cause = ended(lab)
    assert status == ["void", "done", "done"] and cause


def test_a_server_at_an_address_that_does_not_return_fails_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_address, "_RETURN_S", 0.1)
    answers = [Load(), by_address.Unreachable("subject.dsn: connection refused", "check the password")]

    class Lost(by_address.AtAddress):
        def connect(self, option: object) -> Load:
            answer = answers[0] if len(answers) == 1 else answers.pop(0)
            if isinstance(answer, InputError):
                raise answer
            return answer

    subject = Lost(None)  # type: ignore[arg-type]
    subject.start(None)  # type: ignore[arg-type]
    with pytest.raises(SubjectFailed, match=r"went away .* did not return within 0\.1 s: .*refused"):
        subject.start(None)  # type: ignore[arg-type]
    # at the first try nothing has gone away
    with pytest.raises(by_address.Unreachable):
        Lost(None).start(None)  # type: ignore[arg-type]


def test_a_session_that_idles_for_too_long_names_the_key(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1, measure_s=1, think_ms=900)
    session = "[subject.session]\nidle_session_timeout = '300ms'\n[workload]"
    study.write_text(study.read_text().replace("[workload]", session))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 1, done.stderr
    assert "(raise idle_session_timeout in [subject.session])" in " ".join(done.stderr.split())


def test_deadlocks_name_the_key_that_repeats_their_transactions(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres", blocks=1, measure_s=1, think_ms=0)
    update = 'sql = "update pair set n = n + 1 where id = :i"\n'
    update += 'parameters = { i = { kind = "uniform", low = 1, high = 2 } }\n'
    work = 'kind = "sql"\nschema_sql = "create table pair as select 1 as id, 0 as n union select 2, 0"\n'
    for name in ("x", "y"):
        work += f"[workload.statements.{name}]\n" + update
    work += '[workload.transactions.t]\nstatements = ["x", "y"]\nbegin = true'
    text = (
        study.read_text().replace("rows = 1000", "").replace("[factors.handle]", f"{work}\n[factors.handle]")
    )
    study.write_text(text.replace('"postgres"', '"postgres"\nsettings = { deadlock_timeout = "10ms" }', 1))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    notices = Bundle(lab.bundle).columns("select text from notices where text like '%deadlock%'")["text"]
    assert any("workload.retries" in text for text in notices), done.stdout
