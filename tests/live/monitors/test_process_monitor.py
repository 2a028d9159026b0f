import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.monitors import Sample, Target, Unavailable
from steelyard.monitors.system.processes import ProcessMonitor
from steelyard.monitors.system.procfs import shared_budget

# A child obeys lines on its input and answers each with one on its output.
CHILD = """
import os, resource, subprocess, sys, threading, time
from ctypes import CDLL
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        os.getppid()
def used():
    own, dead = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + dead.ru_utime + dead.ru_stime
kids = []
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "burn":
        burn(float(rest))
    elif word == "kids":  # a number of children that burn, waited for
        for _ in range(int(rest)):
            pid = os.fork()
            if not pid:
                burn(0.03)
                os._exit(0)
            os.waitpid(pid, 0)
    elif word == "fork":  # one child that stays, answered when it has burnt
        done, ended = os.pipe()
        pid = os.fork()
        if not pid:
            burn(float(rest))
            os.close(ended)
            time.sleep(60)
            os._exit(0)
        kids.append(pid)
        os.close(ended)
        os.read(done, 1)
        os.close(done)
    elif word == "reap":
        pid = kids.pop()
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    elif word == "threads":
        threads = [threading.Thread(target=burn, args=(0.05,)) for _ in range(int(rest))]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    elif word == "idle-threads":
        for _ in range(int(rest)): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    elif word == "write":
        with open(rest, "wb") as file:
            file.write(b"x" * 8_000_000)
            os.fsync(file.fileno())
    elif word == "switch":
        for _ in range(int(rest)): time.sleep(0)
        for _ in range(int(rest)): time.sleep(0.0001)
    print(used(), flush=True)
"""


class Child:
    """A process that does as it is told."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.tell("ready")

    @property
    def pid(self) -> int:
        return self.process.pid

    def tell(self, order: str) -> float:
        """CPU seconds that it and its dead children used, as it says itself."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate()

    def kill_all(self) -> None:
        """With its children, which it may have left behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def child() -> Iterator[Child]:
    child = Child()
    yield child
    child.kill_all()


def read(monitor: ProcessMonitor) -> dict[tuple[str, str], float]:
    return {(s.entity, s.metric): s.value for s in monitor.read()}


def cpu_s(monitor: ProcessMonitor, role: str = "server") -> float:
    return read(monitor)[role, "cpu_ns_total"] / 1e9


def test_cpu_is_what_the_process_itself_says(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    told_before, seen_before = child.tell("ready"), cpu_s(monitor)
    told = child.tell("burn 0.4") - told_before
    assert 0.9 < (cpu_s(monitor) - seen_before) / told < 1.1


def test_cpu_of_children_born_and_dead_between_readings_is_counted(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    told_before, seen_before = child.tell("ready"), cpu_s(monitor)
    told = child.tell("kids 12") - told_before
    seen = cpu_s(monitor) - seen_before
    assert told >= 0.36
    assert 0.85 < seen / told < 1.1  # the kernel shows it rounded down to ticks


def test_cpu_of_threads_born_and_dead_between_readings_is_counted(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    told_before, seen_before = child.tell("ready"), cpu_s(monitor)
    told = child.tell("threads 6") - told_before
    assert 0.85 < (cpu_s(monitor) - seen_before) / told < 1.1


def test_counters_never_fall_while_children_and_threads_come_and_go(child, opened, tmp_path):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    before = read(monitor)
    orders = (
        "fork 0.05,fork 0.05,threads 3,reap,kids 2,fork 0.02,reap,threads 2,reap,kids 1"
        f",write {tmp_path}/x,kids 1"
    )
    for order in orders.split(","):
        child.tell(order)
        after = read(monitor)
        for key, value in after.items():
            assert not key[1].endswith("_total") or value >= before.get(key, 0), key
        before = after


def test_cpu_of_a_dead_child_is_counted_once(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    told_before, seen_before = child.tell("ready"), cpu_s(monitor)
    for _ in range(3):
        child.tell("fork 0.15")
        time.sleep(0.02)
        while cpu_s(monitor) and read(monitor)["server", "processes"] < 2:
            time.sleep(0.01)
        time.sleep(0.2)
        read(monitor)
        child.tell("reap")
        read(monitor)
    told = child.tell("ready") - told_before
    assert 0.85 < (cpu_s(monitor) - seen_before) / told < 1.1


def test_user_and_system_sum_to_the_exact_time_at_every_reading(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    for order in ("burn 0.05", "kids 2", "threads 2", "burn 0.1"):
        child.tell(order)
        found = read(monitor)
        parts = found["server", "user_cpu_ns_total"] + found["server", "system_cpu_ns_total"]
        assert parts == found["server", "cpu_ns_total"]


def test_a_tree_ends_where_another_role_begins(child, opened):
    target = Target(pids={"monitors": os.getpid(), "engine": child.pid})
    monitor = opened(ProcessMonitor(), target)
    ours_before = cpu_s(monitor, "monitors")
    own = time.process_time()
    engine_before = cpu_s(monitor, "engine")
    child.tell("burn 0.4")
    assert cpu_s(monitor, "engine") - engine_before > 0.35
    child.end()  # we wait for it, and the kernel adds its time to ours
    own = time.process_time() - own
    assert cpu_s(monitor, "monitors") - ours_before < own + 0.1
    assert ("engine", "cpu_ns_total") not in read(monitor)


def test_switches_slices_and_run_queue_are_counted(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    before = read(monitor)
    child.tell("switch 200")
    after = read(monitor)
    for metric in ("voluntary_switches_total", "slices_total"):
        assert after["server", metric] - before["server", metric] >= 200
    assert after["server", "runqueue_wait_ns_total"] >= before["server", "runqueue_wait_ns_total"]


def test_threads_processes_and_memory_are_gauges_of_the_tree(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    before = read(monitor)
    child.tell("idle-threads 3")
    child.tell("fork 0")
    after = read(monitor)
    assert (before["server", "processes"], after["server", "processes"]) == (1, 2)
    assert (before["server", "threads"], after["server", "threads"]) == (1, 5)
    assert after["server", "memory_private_bytes"] > 1_000_000
    memory = after["server", "memory_private_bytes"] + after["server", "memory_shared_bytes"]
    assert after["server", "memory_bytes"] == memory
    child.tell("reap")
    assert read(monitor)["server", "processes"] == 1


def test_bytes_written_by_a_child_stay_counted(child, opened, tmp_path):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    before = read(monitor)
    if ("server", "written_bytes_total") not in before:
        pytest.skip("this user may not read io")
    child.tell(f"write {tmp_path}/data")
    written = read(monitor)["server", "written_bytes_total"] - before["server", "written_bytes_total"]
    if written == 0:
        pytest.skip("temporary files are in memory here")
    assert 8_000_000 <= written < 9_000_000


def test_few_open_files_give_the_same_figures(child, opened):
    kept = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    reopened = opened(ProcessMonitor(files_max=0), Target(pids={"server": child.pid}))
    child.tell("fork 0.05")
    child.tell("threads 2")
    time.sleep(0.2)
    assert reopened.missing == ()
    stable = ("cpu_ns_total", "slices_total", "threads", "processes", "memory_private_bytes")
    a, b = read(kept), read(reopened)
    assert {m: a["server", m] for m in stable} == {m: b["server", m] for m in stable}


def test_a_process_that_has_not_run_costs_one_read(child, opened):
    def reads() -> int:
        return int(Path("/proc/self/io").read_text().split("syscr: ")[1].split()[0])

    for _ in range(20):
        child.tell("fork 0")
    time.sleep(0.2)
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    before = read(monitor)
    read(monitor)
    began = reads()
    after = read(monitor)
    assert reads() - began < 2 * 21
    assert after == before and after["server", "processes"] == 21
    child.tell("fork 0.1")
    time.sleep(0.2)
    assert read(monitor)["server", "processes"] == 22
    assert cpu_s(monitor) - after["server", "cpu_ns_total"] / 1e9 > 0.09


def test_monitors_of_options_in_turns_share_one_bound_of_open_files(child, opened):
    left, files = shared_budget().left, len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(4):
        opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    held = len(list(Path("/proc/self/fd").iterdir())) - files
    assert held >= 4 and shared_budget().left == left - held


def test_a_process_that_is_not_there_is_unavailable(child):
    child.end()
    with pytest.raises(Unavailable, match=f"process {child.pid}"):
        ProcessMonitor().open(Target(pids={"server": child.pid}))
    with pytest.raises(Unavailable, match="server at an address"):
        ProcessMonitor().open(Target())


def test_reading_after_all_have_ended_is_unavailable(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    child.process.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie still
    with pytest.raises(Unavailable, match="ended"):
        monitor.read()
    child.process.wait()
    with pytest.raises(Unavailable, match="ended"):
        monitor.read()


def test_one_role_that_ended_leaves_the_others(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid, "monitors": os.getpid()}))
    child.end()
    assert {entity for entity, _ in read(monitor)} == {"monitors"}


def test_closing_leaves_no_file_open(child):
    before = len(list(Path("/proc/self/fd").iterdir()))
    monitor = ProcessMonitor()
    monitor.open(Target(pids={"server": child.pid}))
    child.tell("fork 0.01")
    monitor.read()
    monitor.close()
    monitor.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def _fake_process(proc: Path, pid: int, parent: int, ticks: int) -> None:
    """A process as an old kernel shows it: no schedstat, no io, no children."""
    task = proc / str(pid) / "task" / str(pid)
    task.mkdir(parents=True)
    fields = f"S {parent} 0 0 0 0 0 0 0 0 0 {ticks} {ticks} 0 0 0 0 1 0 {pid} 0 0"
    (proc / str(pid) / "stat").write_text(f"{pid} (a (bad) name) {fields}")
    status = (
        "Name:\tx\nRssAnon:\t    100 kB\nRssFile:\t     10 kB\nRssShmem:\t     40 kB\n"
        "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n"
    )
    (proc / str(pid) / "status").write_text(status)
    (task / "status").write_text(status)


def test_an_old_kernel_gives_ticks_and_is_searched_by_parent(tmp_path, opened):
    for pid, parent in ((100, 1), (101, 100), (102, 101), (200, 1)):
        _fake_process(tmp_path, pid, parent, 5)
    monitor = opened(ProcessMonitor(tmp_path), Target(pids={"server": 100}))
    found = read(monitor)
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert found["server", "cpu_ns_total"] == 3 * 10 * tick_ns
    assert found["server", "voluntary_switches_total"] == 21
    assert found["server", "memory_private_bytes"] == 300 * 1024
    assert found["server", "memory_shared_bytes"] == 40 * 1024  # one segment, mapped thrice
    assert ("server", "runqueue_wait_ns_total") not in found
    assert ("server", "read_bytes_total") not in found
    text = " ".join(monitor.missing)
    assert "CONFIG_SCHED_INFO" in text and "CAP_SYS_PTRACE" in text and "loadavg" in text


def test_backends_of_monitors_count_as_monitors(server, opened):
    target = server.target(monitors=os.getpid())
    monitor = opened(ProcessMonitor(), target)
    before = read(monitor)
    with server.connect() as ours, server.connect():
        target.own_backends.add(ours.info.backend_pid)
        connected = read(monitor)
        assert connected["server", "processes"] <= before["server", "processes"] + 1
        assert connected["monitors", "processes"] == before["monitors", "processes"] + 1
        work = "select sum(i) from generate_series(1, 1500000) as i"
        ours.execute(work)
        ours.execute(work)
        worked = read(monitor)
    server_grew = worked["server", "cpu_ns_total"] - connected["server", "cpu_ns_total"]
    ours_grew = worked["monitors", "cpu_ns_total"] - connected["monitors", "cpu_ns_total"]
    assert ours_grew > 3 * server_grew
    time.sleep(0.2)  # the postmaster has waited for both
    ended = read(monitor)
    assert ended["server", "cpu_ns_total"] - worked["server", "cpu_ns_total"] < ours_grew / 2
    assert all(
        ended[key] >= value for key, value in worked.items() if key[1].endswith("_total") and key in ended
    )


def test_samples_are_plain_numbers(child, opened):
    monitor = opened(ProcessMonitor(), Target(pids={"server": child.pid}))
    assert all(isinstance(s, Sample) and isinstance(s.value, int) for s in monitor.read())
