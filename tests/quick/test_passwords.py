"""Secrets in a study: refused where they are written, taken from the environment where it names them."""

from __future__ import annotations

import string
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from steelyard.errors import InputError
from steelyard.study.load_study import parse_study
from steelyard.study.passwords import expand, from_environment, password_written, secret_written

STUDY = """\
name = "mine"
question = "Which?"

[subject]
kind = "postgres"
dsn = {dsn}

[factors.handle]
scope = "client"
levels = {{ A = "none", B = "named" }}
"""
FORMS = (
    "postgresql://bench:{}@db.example/d",
    "postgresql://:{}@db.example/d",
    "POSTGRES://bench:{}@db.example:5432/d?sslmode=require",
    "postgresql://a bench:{}@[::1]:5432/d",
    "postgresql://me@corp.example:{}@h/d",
    "mysql://u:{}@h:3306/shop?tls=require",
    "postgresql://h/d?user=u&password={}",
    "postgresql://h/d?user=u&%70assword={}&sslmode=require",
    "postgresql://h/d?PASSWORD={}",
    "postgresql://h/d?p%61ss%77ord={}",
    "postgresql://u@h/d?sslpassword={}",
    "postgresql://u@h/d?options=-c%20lab.password%3D{}",
    "host=h user=u password={} dbname=d",
    "host=h password = {}",
    "host=h password\t=\n{} user=u",
    "Password={}",
    "host=h sslpassword={}",
    "host=h options='-c lab.password={}' user=u",
    "host=h;password={};user=u",
)
QUOTED = ("host=h password='{}'", "password = '{}' user=u")
LETTERS = string.ascii_letters + string.digits
LITERAL = st.text(LETTERS + "-_.!~%+,", min_size=1, max_size=12).map("Zq7{}7qZ".format)
ANY_LITERAL = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=12).map(
    "Zq7{}7qZ".format
)
NAMES = st.text(string.ascii_uppercase + "_", min_size=1, max_size=8)


def toml(text: str) -> str:
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'


def refusal(dsn: str) -> str:
    with pytest.raises(InputError) as refused:
        parse_study(STUDY.format(dsn=toml(dsn)), "my.toml")
    return f"{refused.value} {refused.value.hint}"


@given(st.sampled_from((*FORMS, *QUOTED)), LITERAL, st.sampled_from(["{}", "${{X}}{}", "{}${{X}}"]))
def test_a_password_in_any_form_of_address_is_refused_and_not_repeated(
    form: str, literal: str, beside: str
) -> None:
    message = refusal(form.format(beside.format(literal)))
    assert message.startswith("my.toml:6: subject.dsn: a password in the study would be copied")
    assert "Zq7" not in message and "7qZ" not in message


@given(st.sampled_from(FORMS[:6]), ANY_LITERAL)
def test_whatever_stands_in_an_encoded_password_is_refused(form: str, literal: str) -> None:
    assert password_written(form.format(quote(literal, safe="")))


@pytest.mark.parametrize(
    "dsn",
    [
        "mysql://u:se cret@h/d",
        "mysql://u:se/cret@h/d",
        "mysql://u:se?cret@h/d",
        "mysql://u:se@cret@h/d",
        "u:secret@h/d",
        " postgresql://u:secret@h/d",
        "jdbc:postgresql://u:secret@h/d",
        "password='${X}' sslpassword=secret",
        "password='a\\'b'",
        "password=${X",
        "password=$X",
        "postgresql://u:%24%7BX%7D@h/d",
        "postgresql://u:${X}@h/d?password=secret",
        "postgresql://h/d?a=b?password=secret",
    ],
)
def test_what_is_meant_as_a_password_is_refused_where_no_server_would_find_it(dsn: str) -> None:
    assert password_written(dsn)


def test_a_long_text_without_a_further_key_is_read_once() -> None:
    # read anew from each of its characters, it would take hours
    assert not password_written("host=h " + "x" * 2_000_000)


@given(st.sampled_from((*FORMS, *QUOTED)), NAMES)
def test_a_password_from_the_environment_is_right_in_every_form(form: str, name: str) -> None:
    assert not password_written(form.format(f"${{{name}}}"))


@pytest.mark.parametrize(
    "dsn",
    [
        "${DSN}",
        "postgresql://bench@db.example:5432/bench?sslmode=verify-full&sslrootcert=/ca.crt",
        "postgresql://bench:@db.example/d",
        "postgresql://h:5432/d?user=me@corp.example",
        "postgresql://[::1]:5432/d?user=me@corp.example",
        "postgresql://u@h1:5432,h2:5432/d",
        "postgresql://a@/d?host=/tmp&passfile=/etc/pgpass",
        "host=/tmp port=5432 user=postgres dbname=postgres passfile=/etc/pgpass",
        "mysql://me@/shop?socket=/run/m.sock",
        "host=h options='-c password_encryption=md5'",
        "",
    ],
)
def test_an_address_without_a_password_is_right(dsn: str) -> None:
    assert not password_written(dsn)


@given(st.text(st.characters(min_codepoint=1, max_codepoint=0x2FF), min_size=1))
def test_the_server_gets_the_password_that_the_environment_holds(password: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("LAB_PASSWORD", password)
        for form in ("user=u password=${LAB_PASSWORD} dbname=d", "password='${LAB_PASSWORD}' user=u"):
            assert conninfo_to_dict(expand(form))["password"] == password
        url = expand("postgresql://u:${LAB_PASSWORD}@h/d")
        assert conninfo_to_dict(url)["password"] == password
        assert urlsplit(url).hostname == "h"


def test_a_whole_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSN", "postgresql://u:geheim@h/d")
    assert expand("${DSN}") == "postgresql://u:geheim@h/d"
    monkeypatch.delenv("DSN")
    with pytest.raises(InputError, match="DSN"):
        expand("${DSN}")


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"${LAB_WORD}"', '"opensesame"'),
        ('"${LAB_WORD}"', '"${LAB_WORD}opensesame"'),
        ('"${LAB_WORD}"', "12345678"),
        ("levels = { B1 = 1000,", 'levels = { B1 = { env.PGPASSWORD = "opensesame" },'),
    ],
)
def test_a_secret_variable_of_a_program_is_refused_and_not_repeated(old: str, new: str) -> None:
    with pytest.raises(
        InputError, match=r"my\.toml:\d+: .*PGPASSWORD: a secret in the study would be copied"
    ) as refused:
        parse_study(PROGRAM.replace(old, new), "my.toml")
    assert "opensesame" not in str(refused.value) and "12345678" not in str(refused.value)


def test_a_secret_in_a_command_line_is_refused() -> None:
    with pytest.raises(InputError, match="other users can read a command line"):
        parse_study(PROGRAM.replace("$PGPASSWORD", "${LAB_WORD}"), "my.toml")


def test_a_secret_may_be_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("q7z!\n")
    monkeypatch.setenv("BANK_FILE", str(tmp_path / "secret"))
    assert from_environment("BANK", "subject.dsn") == "q7z!"
    monkeypatch.setenv("BANK", "first")
    assert from_environment("BANK", "subject.dsn") == "first"
    monkeypatch.setenv("OTHER_FILE", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"OTHER_FILE: .*/none: No such file"):
        from_environment("OTHER", "subject.dsn")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "geheim"),
        ("PGPASSWORD", 12345678),
        ("requirepass", "geheim"),
        ("primary_conninfo", "host=h password='geheim'"),
        ("archive_command", "PGPASSWORD=geheim pg_basebackup"),
        ("restore_command", "curl https://me:geheim@h/%f"),
        ("init_connect", "set password = password('geheim')"),
        ("DATABASE_URL", "postgres://u:geheim@h/d"),
        ("JAVA_OPTS", "-Xmx1g -Djavax.net.ssl.keyStorePassword=geheim"),
        ("connectionProperties", "a=b;password=geheim"),
        ("DATABASE_URL", "postgres://u:${X}geheim@h/d"),
    ],
)
def test_a_secret_that_is_written_in_a_setting_is_found(name: str, value: object) -> None:
    assert secret_written(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "${X}"),
        ("password", ""),
        ("JAVA_OPTS", "-Xmx1g -Dpassword=${X}"),
        ("password_encryption", "scram-sha-256"),
        ("log_line_prefix", "%m [%p] "),
        ("log_line_prefix", "%t:%r:%u@%d:[%p]:"),
        ("log_line_prefix", "%t [%p]: user=%u,db=%d,app=%a,client=%h "),
        ("shared_preload_libraries", "passwordcheck"),
        ("primary_conninfo", "host=h user=u passfile=/p"),
        ("archive_command", "test ! -f /a/%f && cp %p /a/%f"),
        ("ssl_key", "/etc/mysql/key.pem"),
        ("innodb_ft_min_token_size", 3),
        ("default_password_lifetime", "360"),
        ("disconnect_on_expired_password", "ON"),
        ("allowPublicKeyRetrieval", True),
        ("optimizer_switch", "index_merge=on,mrr=off"),
        ("sslpasswordcallback", "org.example.Callback"),
    ],
)
def test_a_setting_that_only_looks_like_a_secret_is_right(name: str, value: object) -> None:
    assert not secret_written(name, value)
