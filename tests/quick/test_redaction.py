"""What servers and programs print is kept without secrets, those of the study too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.lab.environment.redaction import REDACTED, redact, redact_text, redacted_run
from steelyard.lab.run_parts import Run
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options
from steelyard.study.study import Slot, Study

ADDRESS = """\
name = "mine"
question = "Which?"
subject = { kind = "postgres", dsn = "postgresql://bench:${X}@db.example/d" }

[factors.handle]
scope = "client"
levels = { A = "none", B = "named" }
"""
PROGRAM = """\
name = "mine"
question = "Which?"
subject = { kind = "program" }

[workload]
kind = "program"
command = ["sh"]
environment = { PGPASSWORD = "${X}", PGHOST = "${HOST_OF_THE_LAB}" }
score = { pattern = "(1)" }

[factors.word]
scope = "client"
setting = "env.PGPASSWORD"
levels = { A = "${Y}", B = "${Z}" }
"""
# printable, and with something that every form of it must escape
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=4, max_size=12)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"X": "q7z!", "Y": "yyy-word", "Z": "zzz-word", "HOST_OF_THE_LAB": "db.lab"}.items():
        monkeypatch.setenv(name, value)


def study(text: str = ADDRESS) -> Study:
    return parse_study(text, "my.toml")


@given(SECRETS.map(lambda text: "Zq7" + text + "7qZ"))
def test_a_secret_that_the_study_names_is_blotted_out_in_every_form(secret: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("X", secret)
        for form in (
            secret,
            quote(secret),
            quote(secret, safe="").lower() if secret.islower() else quote(secret, safe=""),
            quote_plus(secret),
            json.dumps(secret),
            "'" + secret.replace("'", "''") + "'",
        ):
            for text in (f"no user at {form}", f"1\n2 {form} 3\n4", f"{form}{form}"):
                found = redact_text(text, study())
                assert "Zq7" not in found and "7qZ" not in found, form


@pytest.mark.parametrize("secret", ["q7z!", "yyy-word", "zzz-word"])
def test_variables_that_a_program_gets_are_blotted_out_whatever_their_names(secret: str) -> None:
    said = redact_text(f"cannot log in to db.lab with {secret}", study(PROGRAM))
    assert said == f"cannot log in to {REDACTED} with {REDACTED}"


def test_secrets_of_a_driver_are_blotted_out_also_those_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pin").write_text("q7z!\n")
    monkeypatch.setenv("PIN_FILE", str(tmp_path / "pin"))
    monkeypatch.setenv("OWNER", "invisible")
    driven = parse_study(
        'name = "s"\nquestion = "?"\nsubject = { kind = "jdbc", dsn = "jdbc:h2:x" }\n'
        '[workload]\nkind = "sql"\ndriver = "d.jar"\n'
        'driver_properties = { password = "${PIN}", user = "${OWNER}" }\n'
        '[workload.statements.one]\nsql = "select 1"\n',
        "my.toml",
    )
    # databases print names in upper case
    said = redact_text("INVISIBLE cannot log in with q7z!", driven)
    assert said == f"{REDACTED} cannot log in with {REDACTED}"


def test_cause_log_notices_and_errors_of_a_run_are_without_secrets() -> None:
    first = options(study())[0]
    run = Run(
        Slot(1, 1, first),
        1,
        "void",
        cause="the load engine: cannot connect to postgresql://bench:q7z%21@db.example/d",
        started_at="",
        seconds=1.0,
        server_log="LOG:  ready\nSTATEMENT:  alter role r password 'hunter22'\nLOG:  q7z! fails\nLOG:  end",
        tables={
            "notices": {"code": ["a"], "text": ["q7z! was refused"]},
            "errors": {"run": [1], "code": ["28P01"], "count": [1], "message": ["no q7z! here"]},
            "clients": {"client": [7]},
        },
    )
    kept = redacted_run(run, study())
    assert "q7z" not in str(kept) and "hunter22" not in str(kept)
    # what stands beside a secret stays, line by line
    assert kept.server_log.startswith("LOG:  ready\n") and kept.server_log.endswith("\nLOG:  end")
    assert kept.tables["clients"] == run.tables["clients"]
    assert kept.tables["errors"]["code"] == ["28P01"]
    assert redacted_run(kept, study()) == kept


def test_a_run_without_secrets_is_kept_as_it_is() -> None:
    log = (
        "[Warning] Access denied for user 'native'@'localhost' (using password: YES)\n"
        'FATAL:  password authentication failed for user "bench"\n'
        "DETAIL:  shared_buffers = 128MB at /var/lib/data"
    )
    run = Run(Slot(1, 1, options(study())[0]), 1, "void", "exit code 1", "", 1.0, server_log=log)
    assert redacted_run(run, study()) == replace(run)


@pytest.mark.parametrize(
    "text",
    [
        "mysql://my user:Zq7 7qZ@h/d",
        "postgresql://h/d?%70assword=Zq77qZ&x=1",
        "postgresql://h/d?p%61ss%77ord=Zq77qZ",
        "postgresql://h/d?options=-c%20lab.password%3DZq77qZ",
        "postgresql://:Zq77qZ@h/d",
    ],
)
def test_addresses_in_every_form_are_without_their_passwords(text: str) -> None:
    found = str(redact({"log": f"cannot connect to {text}"}))
    assert "Zq7" not in found and "7qZ" not in found


def test_a_secret_that_is_part_of_the_mark_does_not_spoil_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "acte")
    assert redact_text("password=hunter22 acte", study()) == f"password={REDACTED} {REDACTED}"


def test_the_working_folder_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/srv/lab")
    assert redact("no file /srv/lab/a") == "no file /srv/lab/a"


def test_each_line_of_a_secret_is_blotted_out_and_a_name_that_ends_in_pass_holds_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DBPASS", "opensesame")
    monkeypatch.setenv("MULTI_SECRET", "first-line\nsecond-line")
    said = redact_text("with opensesame\n> first-line\n> second-line", study())
    assert said == f"with {REDACTED}\n> {REDACTED}\n> {REDACTED}"


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        # percent-encoded as Java and JavaScript do, which differ in ~ * ' ( )
        ("Zq7 ~*'()7qZ", "Zq7+%7E*%27%28%297qZ"),
        ("Zq7 ~*'()7qZ", "Zq7%20~*'()7qZ"),
        ("Zq7/7qZ", "zq7%2f7qz"),
        # XML of a server's reply
        ("Zq7<&7qZ", "Zq7&lt;&amp;7qZ"),
        # a file or a shell added the line end
        ("Zq77qZ\n", "no Zq77qZ here"),
        # not UTF-8
        ("Zq7\udcff7qZ", "Zq7\udcff7qZ"),
        # a whole address; its password is not encoded, so libpq takes the rest of it for the host
        ("postgresql://u:hun@Zq77qZ@h/d", 'could not translate host name "Zq77qZ@h" to address'),
        ("jdbc:x://h/d?a=b&vault=Zq77qZ", "the property vault: Zq77qZ"),
    ],
)
def test_a_value_is_blotted_out_as_other_programs_print_it(
    monkeypatch: pytest.MonkeyPatch, value: str, printed: str
) -> None:
    monkeypatch.setenv("X", value)
    found = redact_text(printed, study()).lower()
    assert REDACTED in found and "zq7" not in found and "7qz" not in found


@pytest.mark.parametrize("left", [4, 8, 11])
def test_a_value_at_the_cut_of_an_engines_message_is_not_kept_in_part(
    monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    monkeypatch.setenv("X", "canary-canary")
    cut = ("x" * 500 + " canary-canary")[left + 1 :][:500]
    run = Run(Slot(1, 1, options(study())[0]), 1, "done", "", "", 1.0,
              tables={"errors": {"run": [1], "code": ["a"], "count": [1], "message": [cut]}})  # fmt: skip
    (message,) = redacted_run(run, study()).tables["errors"]["message"]
    assert cut.endswith("canary-canary"[:left]) and message.endswith(f"x {REDACTED}")


def test_facts_are_without_the_values_that_the_study_names() -> None:
    facts = {"settings": {"driver.url": "jdbc:x:q7z!;a=b", "driver.size": 4}, "version": "1"}
    assert redact(facts, study()) == {
        "settings": {"driver.url": f"jdbc:x:{REDACTED};a=b", "driver.size": 4},
        "version": "1",
    }
