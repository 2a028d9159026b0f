"""Memory and disk for several servers at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import InputError
from steelyard.study.load_study import plan_study
from steelyard.subjects.in_turns import room_of_servers, servers_of, why_one_after_another
from steelyard.subjects.servers.room import Room, free_room

MB = 2**20
STUDY = """\
name = "room"
question = "Which is faster?"
subject.kind = "{subject}"
workload = {{ kind = "{workload}", rows = 1_000_000 }}
[factors.setting]
scope = "server"
setting = "{setting}"
levels = {{ A = "64MB", B = "1GB" }}
[plan]
clients = [8]
turns = {turns}
"""
PLENTY = Room(10**12, 10**12)


def study_text(
    subject: str = "postgres",
    workload: str = "lookup",
    setting: str = "shared_buffers",
    turns: str = '"auto"',
) -> str:
    return STUDY.format(subject=subject, workload=workload, setting=setting, turns=turns)


def test_servers_take_their_buffers_as_far_as_data_fill_them_and_their_sessions() -> None:
    study, options = plan_study(study_text(), "room")
    assert list(servers_of(study, options).values()) == [0, 1]
    need = room_of_servers(study, options)
    data = 250 * 10**6
    # two servers with their processes and eight sessions each; 64 MB of buffers, and 1 GB that data half fill
    assert need.memory_bytes == 2 * (40 + 8 * 4) * MB + 64 * MB + data
    assert need.disk_bytes == 2 * (60 * MB + data)


OWN = """\
name = "own"
question = "Which is faster?"
subject.kind = "{subject}"
workload.kind = "sql"
workload.schema_sql = "{schema}"
workload.statements.one.sql = "{sql}"
{lines}
[factors.setting]
scope = "server"
setting = "{setting}"
levels = {{ A = "{small}", B = "{large}" }}
[plan]
clients = [4]
"""


def own(
    subject: str = "postgres",
    schema: str = "create table t (i int)",
    sql: str = "select 1",
    lines: str = "",
    setting: str = "shared_buffers",
    small: str = "16MB",
    large: str = "256MB",
) -> Room:
    text = OWN.format(
        subject=subject, schema=schema, sql=sql, lines=lines, setting=setting, small=small, large=large
    )
    return room_of_servers(*plan_study(text, "own"))


def test_sql_may_make_any_amount_of_data_so_each_option_counts_with_all_of_its_buffers() -> None:
    # of a user's study with these settings, both servers together had 149 and 240 MiB at their peaks
    processes = 2 * (40 + 4 * 4) * MB
    assert own().memory_bytes == processes + (16 + 256) * MB
    assert own(large="0.25GB") == own()
    assert own(small="256MB", large="256MB ").memory_bytes == processes + 2 * 256 * MB
    mariadb = own(subject="mariadb", setting="innodb_buffer_pool_size", small="64M", large="1G")
    assert mariadb.memory_bytes == 2 * (150 + 4) * MB + (64 + 1024) * MB


def test_writes_fill_buffers_whatever_the_data_were_at_first() -> None:
    writing, _ = (plan_study(study_text(workload=work), "room") for work in ("orders", "lookup"))
    assert room_of_servers(*writing).memory_bytes == 2 * (40 + 8 * 4) * MB + (64 + 1024) * MB


def test_memory_of_sessions_counts_where_it_is_set_higher_than_its_default() -> None:
    least = own(setting="work_mem", small="1MB", large="4MB").memory_bytes
    assert own(setting="work_mem", small="4MB", large="64MB").memory_bytes == least + 4 * 60 * MB
    session = own(setting="work_mem", small="1MB", large="4MB", lines="subject.session = {work_mem = '64MB'}")
    assert session.memory_bytes == least + 2 * 4 * 60 * MB


def test_rows_that_a_script_generates_take_disk_and_comments_write_nothing() -> None:
    schema = "create table t as select n from generate_series(1, 1000000) n -- generate_series(1, 9)"
    assert own(schema=schema, sql="/* by key */ select 1").disk_bytes == 2 * (60 * MB + 250 * 10**6)
    assert own(sql="/* by key */ insert into t values (1)").disk_bytes == 2 * (60 + 1024) * MB


def test_a_log_that_writes_fill_counts_in_the_server_s_own_units() -> None:
    reading, writing = (
        room_of_servers(*plan_study(study_text(workload=workload, setting="max_wal_size"), "room")).disk_bytes
        for workload in ("lookup", "orders")
    )
    # 64 MB and 1 GB of log, and a second table
    assert writing - reading >= (64 + 1024) * MB


@pytest.mark.parametrize("free", [Room(300 * MB, 10**12), Room(10**12, 600 * MB)])
def test_too_little_memory_or_disk_makes_runs_come_one_after_another_and_says_why(free: Room) -> None:
    study, options = plan_study(study_text(), "room")
    assert why_one_after_another(study, options, PLENTY) == ""
    why = why_one_after_another(study, options, free)
    assert why.startswith("2 servers at the same time need ") and why.endswith(f"and {free} are free")
    needed = "446 MiB of memory and 597 MiB of disk"
    assert f"need {needed}" in why


def test_a_study_that_insists_on_turns_is_refused_where_there_is_no_room() -> None:
    study, options = plan_study(study_text(turns="true"), "room")
    with pytest.raises(InputError, match="turns are not possible: 2 servers at the same time need"):
        why_one_after_another(study, options, Room(MB, MB))


def test_free_memory_is_the_least_that_machine_and_control_groups_leave(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "sys/fs/cgroup"
    own = groups / "outer" / "inner"
    for folder in (proc / "self", own):
        folder.mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    (proc / "self" / "cgroup").write_text("0::/outer/inner\n")
    assert free_room(tmp_path, proc, tmp_path / "sys").memory_bytes == 8000 * 1024
    (own / "memory.max").write_text("max\n")
    (own / "memory.current").write_text("5\n")
    limits = {
        "memory.max": "1000000\n",
        "memory.current": "900000\n",
        "memory.stat": "anon 1\ninactive_file 7\n",
    }
    for name, text in limits.items():
        (groups / "outer" / name).write_text(text)
    found = free_room(tmp_path, proc, tmp_path / "sys")
    assert found.memory_bytes == 100_007 and found.disk_bytes > 0
