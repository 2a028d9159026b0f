"""Values replaced under a secret: equal ones stay equal, none is left, what is odd is removed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_logs import as_csv, record
from servers import postgres

from steelyard.captures.anonymity.folder import anonymise
from steelyard.captures.anonymity.permutation import Permutation
from steelyard.captures.anonymity.statement import Anonymiser
from steelyard.captures.anonymity.values import Values
from steelyard.captures.tokens import Dialect, normalised, tokens
from steelyard.study.errors import InputError
from steelyard.workloads.replay.capture_file import read_capture, sessions

SECRET = b"0123456789abcdef" * 2
VALUES = Values(SECRET)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)
POSTGRESQL = Anonymiser(SECRET, "postgresql", names=False)
MYSQL = Anonymiser(SECRET, "mysql", names=False)


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 26, 100, 1000])
def test_a_permutation_takes_every_number_once(bound: int) -> None:
    permuted = Permutation(SECRET)
    assert sorted(permuted(n, bound, "t") for n in range(bound)) == list(range(bound))
    other = Permutation(SECRET + b"x")
    if bound >= 100:
        assert [permuted(n, bound, "t") for n in range(bound)] != [other(n, bound, "t") for n in range(bound)]
        assert [permuted(n, bound, "t") for n in range(bound)] != [
            permuted(n, bound, "u") for n in range(bound)
        ]


@given(numbers=st.sets(st.integers(0, 2**64), max_size=50))
def test_whole_numbers_stay_distinct_and_keep_digits_and_type(numbers: set[int]) -> None:
    replaced = {number: VALUES.replaced(str(number)) for number in numbers}
    assert len(set(replaced.values())) == len(numbers)
    for number, text in replaced.items():
        assert len(text) == len(str(number))
        for bits in (7, 8, 15, 16, 31, 32, 63, 64):
            assert (number < 2**bits) == (int(text) < 2**bits)


@given(value=TEXT)
def test_a_text_keeps_its_length_and_what_stands_between_its_letters(value: str) -> None:
    found = VALUES.text(value)
    assert len(found) == len(value)
    assert VALUES.text(value) == found
    for before, after in zip(value, found, strict=True):
        assert before.isalnum() == after.isalnum()
        if not before.isalnum():
            assert before == after


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("2026-11-22", r"\d{4}-\d\d-\d\d"),
        ("2026-11-22 10:20:30.5+01", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d\+01"),
        ("10:20", r"\d\d:\d\d"),
        ("12.50", r"\d\d\.\d\d"),
        ("-7.5e-3", r"-\d\.\de-3"),
        ("7 days", r"\d days"),
        ("\\x00ff", r"\\x[0-9a-f]{4}"),
        ("3fa85f64-5717-4562-b3fc-2c963f66afa6", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ('{"name": "Ann", "age": 41, "ok": true}', r'\{"name": "[A-Z][a-z]{2}", "age": \d\d, "ok": true\}'),
        ("ann.lee@example.com", r"[a-z]{3}\.[a-z]{3}@[a-z]{7}\.[a-z]{3}"),
        ("%lee%", "%[a-z]{3}%"),
    ],
)
def test_a_value_stays_of_its_kind(value: str, kind: str) -> None:
    found = VALUES.replaced(value)
    assert re.fullmatch(kind, found)
    assert found != value


@given(day=st.dates())
def test_a_day_stays_a_day(day: object) -> None:
    import datetime

    assert datetime.date.fromisoformat(VALUES.replaced(str(day)))


# units of time stay: no word is one
WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=9, max_size=30).map("x".__add__)


@settings(deadline=None)
@given(
    words=st.lists(WORD, min_size=2, max_size=5, unique=True),
    numbers=st.lists(st.integers(10**9, 10**17), min_size=1, max_size=4),
    dialect=st.sampled_from(["postgresql", "mysql"]),
)
def test_no_literal_is_left_and_equal_ones_stay_equal(
    words: list[str], numbers: list[int], dialect: Dialect
) -> None:
    anonymiser = Anonymiser(SECRET, dialect, names=False)
    texts = [f"'{word}'" for word in words]
    sql = (
        f"select * from person p join pet on p.id = pet.owner -- {words[0]}\n where name in"
        f" ({', '.join(texts + texts)}) and born /* {words[1]} */ > {numbers[0]}"
        f" and size in ({', '.join(map(str, numbers))}, {numbers[0]})"
    )
    found = anonymiser.statement(sql)
    assert found is not None
    assert not any(word in found for word in words)
    assert not any(str(number) in found for number in numbers)
    literals = [one.text for one in tokens(found, dialect) if one.is_literal]
    before = [one.text for one in tokens(sql, dialect) if one.is_literal]
    assert [before.index(one) for one in before] == [literals.index(one) for one in literals]
    assert normalised(found, dialect) == normalised(sql, dialect)
    # bound, inlined and in a dump, a value is replaced by the same
    assert f"'{anonymiser.values.replaced(words[0])}'" == literals[0]


@given(value=TEXT)
def test_a_literal_of_any_text_comes_out_as_one_literal(value: str) -> None:
    for anonymiser, quoted in [
        (POSTGRESQL, value.replace("'", "''")),
        (MYSQL, value.replace("\\", "\\\\").replace("'", "\\'")),
    ]:
        found = anonymiser.statement(f"select '{quoted}', 1")
        assert found is not None
        assert len([one for one in tokens(found, anonymiser._dialect) if one.kind == "text"]) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "select 'unterminated",
        "do $$ begin perform 'secret'; end $$",
        "create user bob password 'secret'",
        "set my.name = 'secret'",
        "select U&'\\0041'",
        "select E'\\x41'",
        "copy t from '/etc/passwd'",
        "/* only */",
        "",
    ],
)
def test_what_is_not_understood_is_removed(sql: str) -> None:
    assert POSTGRESQL.statement(sql) is None


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        (
            "select a from t order by 1, b limit 10 offset 20",
            "select a from t order by 1, b limit 10 offset 20",
        ),
        (
            "select date_trunc('month', d)::varchar(20) from t",
            "select date_trunc('month', d)::varchar(20) from t",
        ),
        ("select nextval('order_id'), j ->> 'name', a[1]", "select nextval('order_id'), j ->> 'name', a[1]"),
        ("set transaction isolation level serializable", "set transaction isolation level serializable"),
        ("select setval('public.id', 4711, true)", "select setval('public.id', 9999, true)"),
        ("update t set a = $1 where ok = true", "update t set a = $1 where ok = true"),
    ],
)
def test_what_says_how_and_not_what_stays(sql: str, kept: str) -> None:
    assert POSTGRESQL.statement(sql) == kept


def test_names_are_replaced_on_request() -> None:
    named = Anonymiser(SECRET, "postgresql", names=True)
    found = (
        named.statement("select c.\"Name\", count(*) from Customer c where nextval('customer_id') > 5") or ""
    )
    assert "ustomer" not in found and "Name" not in found
    assert found.startswith("select n") and "count(*) from n" in found and "nextval('n" in found
    assert named.name("customer") == named.name("CUSTOMER") != named.name("customers")


def test_a_log_leaves_as_a_capture_and_the_secret_stays(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        as_csv(
            [
                record(1, "duration: 1 ms  statement: select * from person where name = 'Alice Liddell'"),
                record(2, "duration: 1 ms  execute a: select $1", detail="parameters: $1 = 'Alice Liddell'"),
                record(3, "duration: 1 ms  statement: select 'Alice"),
                record(4, "Alice failed", error_severity="ERROR", statement="select 'Alice' / 0"),
                record(5, "duration: 1 ms  statement: do $$ select 'Alice' $$"),
            ]
        ),
        encoding="utf-8",
    )
    key, out = tmp_path / "key", tmp_path / "out"
    anonymise([log], out, key, names=False)
    assert "lice" not in "".join(p.read_text(encoding="utf-8") for p in out.iterdir())
    (events,) = sessions(out / "load.capture")
    bound = events[1][2][0]
    assert events[0][2][0] == f"select * from person where name = '{bound}'"
    assert sum(read_capture(out / "load.capture").left_out.values()) == 3
    assert key.stat().st_mode & 0o077 == 0
    # under the same secret the same values, from the capture as well
    again = tmp_path / "again"
    anonymise([log], again, key, names=False)
    assert (again / "load.capture").read_bytes() == (out / "load.capture").read_bytes()
    with pytest.raises(InputError, match="must not lie"):
        anonymise([log], out, out / "key", names=False)


DUMP = """\
-- PostgreSQL database dump
SET statement_timeout = 0;
CREATE TABLE public.person (
    id integer NOT NULL,
    name character varying(40) DEFAULT 'nobody'::character varying,
    born date
);
COPY public.person (id, name, born) FROM stdin;
4711	Alice "A\\tB" O'Hara	1990-02-28
4712	\\N	\\N
\\.
INSERT INTO public.person VALUES (4713, 'Bob', '1990-02-28');
COMMENT ON TABLE public.person IS 'Alice';
ALTER TABLE ONLY public.person ADD CONSTRAINT person_pkey PRIMARY KEY (id);
"""


def test_a_dump_and_a_statement_still_match(tmp_path: Path) -> None:
    (tmp_path / "before.sql").write_text(DUMP, encoding="utf-8")
    said = anonymise([tmp_path / "before.sql"], tmp_path / "out", tmp_path / "key", names=False)
    assert any("1 statements that were not understood" in line for line in said)
    text = (tmp_path / "out" / "before.anonymous.sql").read_text(encoding="utf-8")
    assert not re.search(r"Alice|Bob|Hara|471\d|1990|nobody", text)
    assert "character varying(40)" in text
    secret = bytes.fromhex((tmp_path / "key").read_text(encoding="ascii"))
    own = Anonymiser(secret, "postgresql", names=False)
    with postgres() as server:
        with server.connect() as connection:
            schema, copied, rest = re.split(r"COPY [^;]*;\n|\\\.\n", text)
            connection.execute(schema.encode())
            with connection.cursor() as cursor, cursor.copy("copy person from stdin") as copy:
                copy.write(copied)
            connection.execute(rest.encode())
        query = (
            "select count(*) from person where born = '1990-02-28' and name in"
            " ('Alice \"A\tB\" O''Hara', 'Bob')"
        )
        assert server.ask(own.statement(query) or "") == 2
        assert (
            server.ask(own.statement("select count(*) from person where id = 4712 and name is null") or "")
            == 1
        )


def test_dumps_of_any_lines_are_written_or_left_out(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text(
        "-- MariaDB dump 10.19\nINSERT INTO `t` VALUES (1,'it\\'s');\nINSERT INTO t VALUES ('x", "utf-8"
    )
    anonymise([file], tmp_path / "out", tmp_path / "key", names=False)
    text = (tmp_path / "out" / "a.anonymous.sql").read_text(encoding="utf-8")
    assert text.startswith("INSERT INTO `t` VALUES (")
    assert Counter(text)["\n"] == 1
