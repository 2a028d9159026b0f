"""The kernel's probes against what the kernel itself counts."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from needs import needs_root
from probing import BUSY, HZ, looked_at, needs_perf_events, probe, running, samples

from steelyard import _core


def cpu_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@needs_perf_events
def test_samples_are_the_cpu_time_that_the_kernel_counted() -> None:
    with running(sys.executable, "-c", BUSY) as busy:
        time.sleep(0.3)
        it = probe({"server": busy.pid}, profile_hz=HZ)
        before = cpu_s(busy.pid)
        told = looked_at(it, 2)
        expected = (cpu_s(busy.pid) - before) * HZ
    seen = sum(samples(told, "server").values())
    assert told["lost"] == 0
    assert abs(seen - expected) < 4 * math.sqrt(expected) + 3


@needs_perf_events
def test_time_in_the_kernel_has_the_names_of_its_functions() -> None:
    with running("dd", "if=/dev/zero", "of=/dev/null", "bs=1M") as busy:
        told = looked_at(probe({"server": busy.pid}, profile_hz=HZ), 1)
    table = told["profile"]
    mine = [stack for role, stack in zip(table["role"], table["stack"], strict=True) if role == "server"]
    assert any("read_zero_[k]" in stack for stack in mine)
    # callers stand before what they call
    assert any(re.search(r"do_syscall_64_\[k\];.*read_zero_\[k\]", stack) for stack in mine)


def compiled(folder: Path, source: str, *options: str) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    (folder / "spin.c").write_text(source)
    program = folder / "spin"
    subprocess.run(["cc", *options, "-o", str(program), str(folder / "spin.c")], check=True)
    return program


@needs_perf_events
def test_functions_of_processes_that_have_exited_are_named(tmp_path: Path) -> None:
    source = (
        "__attribute__((noinline)) unsigned long spin_for_a_while(unsigned long n)"
        "{volatile unsigned long x = 0; while (n--) x += n; return x;}"
        "int main(void){return (int)(spin_for_a_while(30000000) & 1);}"
    )
    program = compiled(tmp_path, source, "-O1")
    with running("sh", "-c", f"while :; do {program}; done") as shell:
        told = looked_at(probe({"server": shell.pid}, profile_hz=HZ), 2)
    found = samples(told, "server")
    assert found["spin_for_a_while"] > 0.5 * sum(found.values())


@needs_perf_events
@pytest.mark.parametrize(("callers", "is_cut"), [(20, False), (2000, True)])
def test_a_stack_beyond_the_limit_of_frames_is_marked(tmp_path: Path, callers: int, is_cut: bool) -> None:
    source = (
        "volatile unsigned long x; void deeper(int n)"
        "{if (n) deeper(n - 1); else for (;;) x++; x++;}"
        f"int main(void){{deeper({callers}); return 0;}}"
    )
    program = compiled(tmp_path, source, "-O0", "-fno-omit-frame-pointer")
    with running(str(program)) as spinning:
        time.sleep(0.3)
        told = looked_at(probe({"server": spinning.pid}, profile_hz=HZ), 1)
    table = told["profile"]
    mine = [stack for role, stack in zip(table["role"], table["stack"], strict=True) if role == "server"]
    assert mine and all(("spin;[cut];deeper;" in stack) is is_cut for stack in mine)


@needs_perf_events
def test_waits_for_a_contended_lock_are_told_by_call_site(tmp_path: Path) -> None:
    # both make and remove files in one folder: its inode's rwsem is taken for writing each time
    body = (
        "import os, sys\nwhile True:\n"
        "    os.close(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY))\n    os.unlink(sys.argv[1])"
    )
    first = [sys.executable, "-c", body, str(tmp_path / "a")]
    second = [sys.executable, "-c", body, str(tmp_path / "b")]
    with running(*first) as one, running(*second) as two:
        time.sleep(0.3)
        # on a busy machine the two may take turns on one CPU and never meet
        for _ in range(10):
            locks = looked_at(probe({"server": one.pid, "engine": two.pid}, locks=True), 2)["locks"]
            if "rwsem:W" in locks["type"]:
                break
    rows = [
        (locks["contended"][i], locks["wait_total_ns"][i], locks["wait_max_ns"][i], encoded)
        for i, encoded in enumerate(locks["wait_histogram_base64"])
        if locks["role"][i] in ("server", "engine")
    ]
    assert "rwsem:W" in locks["type"]
    assert all(re.fullmatch(r"\S+\+0x[0-9a-f]+", site) for site in locks["call_site"])
    for contended, total_ns, most_ns, encoded in rows:
        count, _, mean_ns, _ = _core.histogram_summary(base64.b64decode(encoded))
        assert count == contended > 0 and most_ns <= total_ns
        assert mean_ns * count == pytest.approx(total_ns, rel=0.01, abs=10 * count)


@needs_perf_events
def test_switches_are_those_that_the_kernel_counted() -> None:
    body = "import time\nwhile True: time.sleep(0.002)"
    with running(sys.executable, "-c", body) as sleeper:
        time.sleep(0.3)
        it = probe({"server": sleeper.pid}, sched=True)
        before = voluntary(sleeper.pid)
        start_ns = time.monotonic_ns()
        it.open("scheduling-trace", 0, start_ns, start_ns + 10**9)
        time.sleep(1)
        counted = voluntary(sleeper.pid) - before
        told = json.loads(it.finish() or "")
    table = told["scheduling"]
    (row,) = [i for i, role in enumerate(table["role"]) if role == "server"]
    assert abs(table["voluntary"][row] - counted) <= 10
    (off_cpu_ns,) = _core.histogram_quantiles(base64.b64decode(table["off_cpu_histogram_base64"][row]), [0.5])
    assert off_cpu_ns >= 2e6


def voluntary(pid: int) -> int:
    found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    return int(found[1])


@needs_perf_events
def test_nothing_counts_outside_a_window() -> None:
    with running(sys.executable, "-c", BUSY) as busy:
        it = probe({"server": busy.pid}, profile_hz=HZ, locks=True, sched=True)
        time.sleep(0.3)
        now_ns = time.monotonic_ns()
        it.open("scheduling-trace", 0, now_ns, now_ns)
        time.sleep(0.3)
        told = json.loads(it.finish() or "")
    assert not any(told[table]["point"] for table in ("profile", "locks", "scheduling"))
    assert it.finish() is None


@needs_root
def test_without_rights_each_source_is_refused_by_name_with_the_setting_that_mends_it() -> None:
    body = (
        "import json, os\nfrom steelyard import _core\n"
        # a user of its own: what others of one user lock in memory counts for all of them
        "os.setgroups([]); os.setgid(65534); os.setuid(1_000_000 + os.getpid())\n"
        "it = _core.Probe(json.dumps({'profile_hz': 99, 'locks': True, 'sched': True, 'roots': []}))\n"
        "print(json.dumps(it.refused)); assert it.finish() is None"
    )
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if paranoid < 1:
        pytest.skip(f"perf_event_paranoid is {paranoid}: everybody may look at all CPUs")
    out = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True).stdout
    refused = dict(json.loads(out))
    assert {"profile", "locks", "sched"} <= refused.keys()
    assert "sysctl kernel.perf_event_paranoid" in refused["profile"] and "CAP_PERFMON" in refused["profile"]
    assert "tracefs" in refused["locks"] or "perf_event_paranoid" in refused["locks"]
