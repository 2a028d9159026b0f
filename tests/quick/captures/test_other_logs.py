"""Logs of MariaDB, replay files of pgreplay: by hand, and damaged."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.captures.entry import INCOMPLETE, NO_VALUES, Entry, Format, Records
from steelyard.captures.formats import general_log, pgreplay, slow_log
from steelyard.captures.formats.registry import format_of
from steelyard.errors import InputError

START = (
    "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian). started with:\nTcp port: 0\nTime\t\t    Id C\n"
)
GENERAL = START + (
    "261122 23:22:47\t     3 Connect\troot@localhost on shop using Socket\n"
    "\t\t     3 Query\tselect *\n\nfrom t\n"
    "\t\t     4 Connect\troot@localhost on  using Socket\n"
    "261122 23:22:49\t     4 Init DB\tshop\n"
    "\t\t     4 Prepare\tselect ?\n"
    "\t\t     4 Execute\tselect 'a'\n"
    "\t\t     3 Query\texecute p using @a\n"
    "\t\t     3 Execute\tselect 3\n"
    "\t\t     3 Quit\t\n"
) + START + "261123  1:00:00\t     3 Connect\troot@localhost on shop\n\t\t     3 Query\tcommit\n"  # fmt: skip
SLOW = START + (
    "# Time: 261122 23:22:47\n"
    "# User@Host: root[root] @ localhost []\n"
    "# Thread_id: 3  Schema: shop  QC_hit: No\n"
    "# Query_time: 0.250000  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n"
    "# Rows_affected: 0  Bytes_sent: 11\n"
    "use `shop`;\nSET timestamp=1795389767;\nselect *\n# a comment\nfrom t;\n"
    "# User@Host: root[root] @ localhost []\n"
    "# Thread_id: 3  Schema: shop  QC_hit: No\n"
    "# Query_time: 0.000009  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n"
    "SET timestamp=1795389769;\n# administrator command: Quit;\n"
    "# User@Host: root[root] @ localhost []  Id:     7\n"
    "# Query_time: 1.5  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n"
    "SET timestamp=1795389770;\ncommit;\n"
)  # fmt: skip


def text(value: str | None) -> bytes:
    if value is None:
        return struct.pack(">I", 0x8000_0000)
    return struct.pack(">I", len(value.encode())) + value.encode()


def item(seconds: int, us: int, session: int, kind: int, body: bytes = b"") -> bytes:
    return struct.pack(">IIQB", seconds, us, session, kind) + body + b"\n"


PGREPLAY = b"".join(
    [
        item(100, 5, 7, 0, text("u") + text("shop")),
        item(100, 10, 7, 2, text("select 1")),
        item(101, 0, 7, 3, text("select $1, $2") + text("p")),
        item(102, 0, 7, 4, text("p") + struct.pack(">H", 2) + text("it's") + text(None)),
        item(102, 0, 8, 4, text("q") + struct.pack(">H", 0)),
        item(103, 0, 7, 5),
        item(104, 0, 7, 1),
    ]
)


def read(one: Format, data: bytes, folder: Path) -> tuple[list[Entry], Counter[str]]:
    file = folder / "log"
    file.write_bytes(data)
    records = Records()
    return list(one.read(file, records)), records.left_out


def facts(entries: list[Entry]) -> list[tuple[Any, ...]]:
    first = min(one.begin_us for one in entries)
    return [(one.session, one.begin_us - first, one.took_us, one.sql, one.values) for one in entries]


def test_a_general_log_gives_what_was_sent_and_what_was_executed(tmp_path: Path) -> None:
    found, left_out = read(general_log, GENERAL.encode(), tmp_path)
    second = 10**6
    assert facts(found) == [
        ("3:1", 0, None, "select *\n\nfrom t", ()),
        ("4:1", 2 * second, None, "select 'a'", ()),
        ("3:1", 2 * second, None, "execute p using @a", ()),
        ("3:2", 5833 * second, None, "commit", ()),
    ]
    assert [one.database for one in found] == ["shop"] * 4
    assert not left_out


def test_a_slow_log_gives_statements_with_their_time(tmp_path: Path) -> None:
    found, left_out = read(slow_log, SLOW.encode(), tmp_path)
    assert facts(found) == [
        ("1:3", 0, 250_000, "select *\n# a comment\nfrom t", ()),
        ("1:7", 3_000_000, 1_500_000, "commit", ()),
    ]
    assert not left_out
    found, left_out = read(slow_log, SLOW[:-3].encode(), tmp_path)
    assert (len(found), left_out) == (1, {INCOMPLETE: 1})


def test_a_replay_file_of_pgreplay_gives_texts_and_bound_values(tmp_path: Path) -> None:
    found, left_out = read(pgreplay, PGREPLAY, tmp_path)
    assert facts(found) == [
        ("7", 0, None, "select 1", ()),
        ("7", 1_999_990, None, "select $1, $2", ("it's", None)),
    ]
    assert found[0].database == "shop"
    assert left_out == {NO_VALUES: 1}
    found, left_out = read(pgreplay, PGREPLAY[:-30], tmp_path)
    assert left_out[INCOMPLETE] == 1


FORMATS: list[tuple[Any, bytes]] = [
    (general_log, GENERAL.encode()),
    (slow_log, SLOW.encode()),
    (pgreplay, PGREPLAY),
]


@pytest.mark.parametrize(("one", "data"), FORMATS)
def test_a_file_is_known_by_its_beginning(tmp_path: Path, one: Any, data: bytes) -> None:
    (tmp_path / "log").write_bytes(data)
    assert format_of(tmp_path / "log") is one


@settings(max_examples=150, deadline=None)
@given(which=st.sampled_from(FORMATS), data=st.data())
def test_damaged_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, which: tuple[Any, bytes], data: Any
) -> None:
    one, good = which
    at = data.draw(st.integers(0, len(good)))
    bad = good[:at] + data.draw(st.binary(max_size=20)) + good[at + data.draw(st.integers(0, 20)) :]
    cut: Callable[[bytes], bytes] = data.draw(st.sampled_from([lambda b: b, lambda b: b[:at]]))
    file = tmp_path_factory.mktemp("log") / "log"
    file.write_bytes(cut(bad))
    try:
        list(one.read(file, Records()))
    except InputError as error:
        assert str(file) in str(error)
