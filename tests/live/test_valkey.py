"""Valkey as a subject: a server of our own for each run, its settings, keys and counters; its workload."""

from __future__ import annotations

import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from laboratory import Lab
from needs import needs_root
from processes import as_nobody
from valkey import Valkey as Client

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.host.cpus.scheduling import place
from steelyard.host.processes.guard import Guard
from steelyard.monitors import Target, Unavailable, declared, make
from steelyard.study.load_study import find_study, plan_study
from steelyard.study.study import Option
from steelyard.subjects import Bench, Load, SubjectFailed, check, kind_of
from steelyard.subjects.valkey.server import find_server, taken
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workloads import work_of
from steelyard.workloads.load_plan import load_plan

STUDY = """
name = "small"
question = "One thread or two?"
[subject]
kind = "valkey"
[workload]
kind = "key-value"
keys = 2500
value_bytes = 10
reads_percent = 80
[factors.threads]
scope = "server"
setting = "io-threads"
levels = { T1 = 1, T2 = 2 }
[plan]
clients = [1, 4]
warm_up_s = 0.1
measure_s = 0.3
cool_down_s = 0.1
blocks = 2
"""


@contextmanager
def started(folder: Path, **settings: Any) -> Iterator[tuple[Load, Client]]:
    """A server with these settings beside those of the study's second option."""
    study, found = plan_study(STUDY, "small")
    with Guard() as guard:
        bench = Bench(
            study, found, {o.label: work_of(o.workload) for o in found}, folder, place(1, False), guard
        )
        subject = kind_of(study).make(bench)
        try:
            load = subject.start(replace(found[1], server={**found[1].server, **settings}))
            subject.reset()
            assert load.server is not None
            with Client.from_url(load.server.dsn, decode_responses=True) as client:
                yield load, client
        finally:
            subject.stop()


@pytest.fixture
def folder(lab: Lab) -> Path:
    """As a study has one: of a short path, within a folder that the servers' account can reach."""
    made = lab.folder / "own"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    ("requested", "shown"),
    [(2, "2"), (True, "yes"), (False, "no"), ("64mb", "67108864"), ("1G", "1000000000"), ("", ""),
     ("allkeys-lru", "allkeys-lru"), ("3600 1", "3600 1")],
)  # fmt: skip
def test_a_setting_is_known_again_as_the_server_shows_it(requested: str | int, shown: str) -> None:
    assert taken(requested, shown)


@pytest.mark.parametrize(
    ("requested", "shown"), [(2, "1"), (True, "no"), ("64mb", "64000000"), ("", "0"), ("mb", "kb")]
)
def test_another_value_is_not_taken_for_it(requested: str | int, shown: str) -> None:
    assert not taken(requested, shown)


def test_a_server_has_the_settings_of_its_option_and_every_key(folder: Path) -> None:
    with started(folder) as (load, client):
        assert load.facts["settings"]["io-threads"] == "2"
        assert load.facts["settings"]["save"] == "" and load.facts["settings"]["port"] == "0"
        assert client.dbsize() == 2500
        assert {len(str(client.get(key))) for key in ("1", "2500")} == {10}
        assert client.get("0") is None and client.get("2501") is None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"no-such": 1}, "'no-such \"1\"' Bad directive or wrong number of arguments"),
        ({"io-threads": 3000}, "argument must be between 1 and 256 inclusive"),
        # the server lowers it and says so in its log only
        ({"hz": 1000}, "did not take hz = 1000: it has 500"),
        ({"maxmemory": "1kb"}, "command not allowed when used memory > 'maxmemory'"),
    ],
)
def test_a_setting_that_is_not_taken_is_refused_with_the_servers_words(
    folder: Path, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(SubjectFailed) as refused, started(folder, **settings):
        pass
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"valkey"', '"valkey"\nsettings = { port = 6379 }', "subject.settings.port"),
        ('"valkey"', '"valkey"\nbindir = "/nowhere"', "neither `valkey-server` nor `redis-server`"),
        ('"valkey"', '"valkey"\ndsn = "unix:///tmp/x"', "Valkey has no dsn"),
        ('"server"', '"session"', "scope 'session' cannot act on Valkey"),
        ('"valkey"', '"postgres"', 'the subject "postgres" cannot run a workload of kind "key-value"'),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_server_starts(old: str, new: str, said: str) -> None:
    text = STUDY.replace(old, new)
    with pytest.raises(InputError) as refused:
        study, found = plan_study(text, "small.toml")
        check(study, found)
    assert said in f"{'.'.join(map(str, refused.value.at))} {refused.value}"


def test_another_folder_names_another_server(folder: Path) -> None:
    (folder / "redis-server").symlink_to(find_server(None))
    assert find_server(str(folder)) == folder / "redis-server"


@needs_root
def test_another_user_cannot_list_read_or_connect(folder: Path) -> None:
    def attempt(work: Callable[[], object]) -> str:
        try:
            work()
        except OSError as error:
            return type(error).__name__
        return ""

    with started(folder) as (load, _):
        assert load.server is not None and load.server.socket is not None
        place = Path(load.server.socket)

        def connect() -> None:
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(str(place))

        def tries() -> list[str]:
            return [
                attempt(work)
                for work in (
                    lambda: list(folder.iterdir()),
                    lambda: list(place.parent.iterdir()),
                    (folder / "server.log").read_bytes,
                    connect,
                )
            ]

        assert as_nobody(tries) == ["PermissionError"] * 4
        assert tries() == [""] * 4, "what is refused to another user works for the lab"
        assert place.stat().st_mode & 0o777 == 0o700
        # neither may whoever finds the folder open
        for closed in (folder, place.parent):
            closed.chmod(0o777)
        assert as_nobody(lambda: attempt(connect)) == "PermissionError"
        owner = Path(f"/proc/{load.server.pid}").stat().st_uid
        assert owner == place.stat().st_uid != 0


def test_a_server_that_ended_or_is_another_says_so(folder: Path) -> None:
    with started(folder) as (load, _):
        assert load.server is not None
        assert load.server.interruption() == ""
        assert load.server.pid is not None
        os.kill(load.server.pid, signal.SIGKILL)
        os.waitid(os.P_PID, load.server.pid, os.WEXITED | os.WNOWAIT)
        assert load.server.interruption() == "Valkey ended during the run with SIGKILL"


def test_the_monitor_reads_what_it_declares(folder: Path) -> None:
    with started(folder) as (load, client):
        assert load.server is not None
        monitor = make("valkey")
        monitor.open(Target(dsn=load.server.dsn))

        def read() -> dict[tuple[str, str], float]:
            return {(entity, metric): value for entity, metric, value in monitor.read()}

        before = read()
        for key in ("1", "2", "no such key"):
            client.get(key)
        after = read()
        monitor.close()
    metrics = declared("valkey").metrics
    assert [key for key in after if not any(m.covers(*key) for m in metrics)] == []
    assert [m for m in metrics if not any(m.covers(*key) for key in after)] == []
    assert not [key for key in after if key[1].endswith("_total") and after[key] < before[key]]
    grown = {key: after[key] - before[key] for key in after}
    assert grown["keys", "hits_total"] == 2 and grown["keys", "misses_total"] == 1
    # the other connection, without the monitor's
    assert after["clients", "connected"] == 1
    # a server keeps 32 open files for itself
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 32
    assert after["clients", "connected_limit"] == min(10_000, files)
    assert ("memory", "used_bytes_limit") not in after


def test_the_monitor_says_why_it_cannot_read(tmp_path: Path) -> None:
    for dsn, said in (("", "no Valkey address"), (f"unix://{tmp_path}/none", "does not answer")):
        with pytest.raises(Unavailable, match=said):
            make("valkey").open(Target(dsn=dsn))


def planned(**workload: Any) -> tuple[dict[str, Any], Option]:
    lines = "".join(f"{key} = {value}\n" for key, value in workload.items())
    study, found = plan_study(STUDY.replace("reads_percent = 80\n", lines), "small")
    return load_plan(study, found[0], work_of(study.workload)), found[0]


def test_the_plan_holds_commands_by_their_share() -> None:
    plan, option = planned(reads_percent=80, pipeline=16)
    assert [
        (s["sql"], t["weight"]) for s, t in zip(plan["statements"], plan["transactions"], strict=True)
    ] == [
        ("GET :key", 80),
        ("SET :key :value", 20),
    ]
    assert plan["statements"][1]["parameters"]["value"] == {"kind": "text", "length": 10}
    assert plan["pipeline"] == 16 and plan["handle"] == "none" and plan["parameters"] == "client"
    assert option.workload.work_is == "command" and option.workload.rate_is == "commands/s"


def test_a_mix_of_one_command_is_that_command() -> None:
    assert [s["sql"] for s in planned(reads_percent=100)[0]["statements"]] == ["GET :key"]
    assert [s["sql"] for s in planned(reads_percent=0)[0]["statements"]] == ["SET :key :value"]
    even = planned(zipf_exponent=0)[0]["statements"][0]["parameters"]["key"]
    assert even == {"kind": "uniform", "low": 1, "high": 2500}


# through the engine


def small(lab: Lab, **changes: str) -> Path:
    text = STUDY
    for old, new in changes.items():
        text = text.replace(f"{old} = ", f"{old} = {new} # ")
    path = lab.folder / "small.toml"
    path.write_text(text + "[monitors]\nvalkey = 10\n")
    return path


def test_a_study_runs_to_a_verdict_in_commands(lab: Lab) -> None:
    done = lab.run("run", small(lab), "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "commands/s" in done.stdout
    counted = Bundle(lab.bundle).columns(
        "with done as (select run, sum(count) as n from throughput where statement = 'transaction'"
        " group by run), server as (select run, max(value) - min(value) as n from samples"
        " where monitor = 'valkey' and metric = 'commands_total' group by run)"
        " select d.n as engine, s.n as server from done d join server s using (run)"
    )
    assert len(counted["engine"]) == 4
    # the engine counted what the server did; the monitor may miss the first and the last tenth of a second
    for engine, server in zip(counted["engine"], counted["server"], strict=True):
        assert server == pytest.approx(engine, rel=0.5)
    missed = Bundle(lab.bundle).columns("select max(value) as n from samples where metric = 'misses_total'")
    assert missed["n"] == [0]
    assert lab.ours() == [] and lab.traces() == []


def test_pipelining_is_a_factor_of_scope_client(lab: Lab) -> None:
    study = small(lab, levels="{ P1 = 1, P16 = 16 }", setting='"pipeline"', scope='"client"')
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    best = Bundle(lab.bundle).columns(
        "select o.option, sum(t.count) as n from throughput t join runs o using (run)"
        " where statement = 'transaction' group by all order by o.option"
    )
    by_option = dict(zip(best["option"], best["n"], strict=True))
    assert by_option["P16"] > 1.5 * by_option["P1"]


def test_a_lab_that_is_killed_leaves_no_server(lab: Lab) -> None:
    process = lab.start("run", small(lab, measure_s="60"), "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours("valkey-server"), "a server runs")
    os.kill(process.pid, signal.SIGKILL)
    lab.wait_for(lambda: not lab.ours("valkey-server"), "the server has gone")
    lab.wait_for(lambda: not lab.traces(), "its folder has gone")


def test_the_built_in_study_is_ready() -> None:
    prepared = PreparedStudy.of(find_study("io-threads")[1], "io-threads")
    assert [option.server["io-threads"] for option in prepared.options] == [1, 2, 4]
