import os
import shutil
from pathlib import Path

import pytest

from steelyard.monitors import Target, Unavailable
from steelyard.monitors.system.machine import HostMonitor

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")

STAT = """cpu  100 5 50 1000 20 0 3 7 0 0
cpu0 60 5 20 500 20 0 3 7 0 0
cpu1 40 0 30 500 0 0 0 0 0 0
intr 12345 1 2 3
ctxt 678
btime 1
processes 90
procs_running 4
procs_blocked 2
softirq 5 1 2
"""
DISKS = """   7 0 loop0 9 0 9 9 9 0 9 9 0 9 9
 254 0 vda 10 1 80 30 20 2 160 40 0 55 70 0 0 0 0
 254 1 vda1 9 1 72 30 20 2 160 40 0 55 70 0 0 0 0
"""
NET = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo:    3193      29    0    0    0     0          0         0     3194      30    0    0
  ifb0:       0       0    0    0    0     0          0         0        0       0    0    0
"""
MEMINFO = """MemTotal: 1000 kB
MemAvailable: 600 kB
Cached: 300 kB
SwapCached: 1 kB
Dirty: 7 kB
SwapTotal: 100 kB
SwapFree: 40 kB
"""


@pytest.fixture
def machine(tmp_path: Path) -> tuple[Path, Path]:
    """A tree like /proc and one like /sys."""
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    for folder in (proc / "net", proc / "pressure", sys / "block/vda", sys / "block/loop0"):
        folder.mkdir(parents=True)
    (proc / "stat").write_text(STAT)
    (proc / "diskstats").write_text(DISKS)
    (proc / "net/dev").write_text(NET)
    (proc / "meminfo").write_text(MEMINFO)
    (proc / "vmstat").write_text("nr_free_pages 1\npgfault 9\npgmajfault 13\n")
    for name in ("cpu", "io", "memory"):
        (proc / "pressure" / name).write_text(
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=250\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=100\n"
        )
    return proc, sys


def read(monitor: HostMonitor) -> dict[tuple[str, str], float]:
    return {(s.entity, s.metric): s.value for s in monitor.read()}


def test_every_source_is_read_with_its_unit(machine, opened):
    found = read(opened(HostMonitor(*machine), Target()))
    assert found["cpu", "user_ns_total"] == 100 * NS_PER_TICK
    assert found["cpu0", "steal_ns_total"] == 7 * NS_PER_TICK
    assert found["cpu1", "system_ns_total"] == 30 * NS_PER_TICK
    assert found["host", "interrupts_total"] == 12345
    assert found["host", "context_switches_total"] == 678
    assert found["host", "forks_total"] == 90
    assert found["host", "runqueue_tasks"] == 4
    assert found["host", "blocked_tasks"] == 2
    assert found["host", "memory_available_bytes"] == 600 * 1024
    assert found["host", "memory_cached_bytes"] == 300 * 1024
    assert found["host", "memory_dirty_bytes"] == 7 * 1024
    assert found["host", "swap_used_bytes"] == 60 * 1024
    assert found["host", "swap_used_bytes_limit"] == 100 * 1024
    assert found["host", "page_faults_major_total"] == 13
    assert found["disk:vda", "read_bytes_total"] == 80 * 512
    assert found["disk:vda", "written_bytes_total"] == 160 * 512
    assert found["disk:vda", "busy_ns_total"] == 55_000_000
    assert found["net:lo", "received_packets_total"] == 29
    assert found["net:lo", "sent_bytes_total"] == 3194
    assert found["psi:io", "full_ns_total"] == 100_000


def test_partitions_loops_and_idle_interfaces_are_left_out(machine, opened):
    entities = {entity for entity, _ in read(opened(HostMonitor(*machine), Target()))}
    assert not entities & {"disk:vda1", "disk:loop0", "net:ifb0"}


def test_a_missing_source_is_named_and_the_rest_is_read(machine, opened):
    proc, sys = machine
    shutil.rmtree(proc / "pressure")
    monitor = opened(HostMonitor(proc, sys), Target())
    assert ("host", "forks_total") in read(monitor)
    assert len(monitor.missing) == 3
    assert all("psi=1" in reason for reason in monitor.missing)


def test_a_source_in_an_unknown_form_is_dropped_and_named(machine, opened):
    proc, sys = machine
    monitor = opened(HostMonitor(proc, sys), Target())
    (proc / "net/dev").write_text("a\nb\nlo: what is this\n")
    found = read(monitor)
    assert ("host", "forks_total") in found
    assert any("net/dev" in reason for reason in monitor.missing)


def test_idle_time_that_the_kernel_takes_back_does_not_fall(machine, opened):
    proc, sys = machine
    monitor = opened(HostMonitor(proc, sys), Target())
    before = read(monitor)
    (proc / "stat").write_text(STAT.replace("1000 20", "999 19"))
    after = read(monitor)
    assert after["cpu", "idle_ns_total"] == before["cpu", "idle_ns_total"]
    assert after["cpu", "iowait_ns_total"] == before["cpu", "iowait_ns_total"]


def test_nothing_to_read_is_unavailable_and_says_what_mends_it(tmp_path):
    with pytest.raises(Unavailable, match="mount -t proc"):
        HostMonitor(tmp_path, tmp_path).open(Target())


def test_this_machine_is_read_and_counters_do_not_fall(opened):
    monitor = opened(HostMonitor(), Target())
    before = read(monitor)
    for _ in range(5):
        after = read(monitor)
        assert all(after[k] >= v for k, v in before.items() if k[1].endswith("_total"))
        before = after
    cores = [e for e, m in before if m == "user_ns_total" and e != "cpu"]
    assert len(cores) == os.cpu_count()


def test_closing_leaves_no_file_open():
    before = len(list(Path("/proc/self/fd").iterdir()))
    monitor = HostMonitor()
    monitor.open(Target())
    monitor.close()
    monitor.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
