"""Time and peak memory of `steelyard report` on a bundle of 1,000 runs x 60 s x 200 metrics.

The bundle is made by the bundle writer from numbers drawn at random; the report runs in a process
of its own, as a user would start it. The target: at most 4 s and 200 MiB.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from declared import METRICS
from steelyard.bundle.writer import BundleWriter
from steelyard.study.load_study import parse_study
from steelyard.study.plan import baseline, blocks, options
from steelyard.study.study import Slot

SECONDS, CLIENTS = 60, 16
WARM_UP_S, COOL_DOWN_S = 2, 1
TARGET_S, TARGET_MIB = 4.0, 200.0

STUDY = """
name = "scale"
question = "How long does a report of a thousand runs take?"
[subject]
kind = "postgres"
[factors.memory]
scope = "server"
setting = "work_mem"
levels = {{ MEM1 = "1MB", MEM2 = "2MB", MEM4 = "4MB", MEM8 = "8MB", MEM16 = "16MB" }}
[factors.buffers]
scope = "server"
setting = "shared_buffers"
levels = {{ BUF1 = "16MB", BUF2 = "32MB", BUF3 = "64MB", BUF4 = "128MB", BUF5 = "256MB" }}
[factors.jit]
scope = "server"
levels = {{ JIT0 = "off", JIT1 = "on" }}
[plan]
clients = [{clients}]
warm_up_s = {warm_up}
measure_s = {seconds}
cool_down_s = {cool_down}
blocks = {blocks}
"""

# what the analysis and the charts read, with growth a second or level; the rest of the metrics are ballast
KNOWN = (
    ("processes", "server", "cpu_ns_total", 0.8e9),
    ("processes", "server", "user_cpu_ns_total", 0.5e9),
    ("processes", "server", "system_cpu_ns_total", 0.3e9),
    ("processes", "engine", "cpu_ns_total", 0.2e9),
    ("processes", "server", "voluntary_switches_total", 2e4),
    ("processes", "server", "memory_private_bytes", 3e7),
    ("postgres", "statements", "entries", 120),
    ("postgres", "statements", "entries_limit", 5000),
    ("monitors", "processes", "cpu_ns_total", 1e6),
    ("monitors", "postgres", "cpu_ns_total", 2e6),
)


def make_bundle(path: Path, runs: int, metrics: int) -> None:
    text = STUDY.format(
        clients=CLIENTS, warm_up=WARM_UP_S, seconds=SECONDS, cool_down=COOL_DOWN_S, blocks=max(2, runs // 50)
    )
    study = parse_study(text, "study.toml")
    found = options(study)
    environment: dict[str, Any] = {
        **METRICS,
        "cpu": {"model": "synthetic"},
        "server": {"version": "synthetic", "settings": {}},
    }
    writer = BundleWriter.create(path, text, found, baseline(study, found), environment)
    names = [*KNOWN, *(("host", f"cpu{i}", f"ballast_{i}_total", 1e6) for i in range(metrics - len(KNOWN)))]
    speed = {option.label: 1 + 0.01 * place for place, option in enumerate(found)}
    chance = np.random.default_rng(1)
    slots = [slot for block in blocks(study, found) for slot in block]
    for number, slot in enumerate(slots, start=1):
        tps = 20_000 * speed[slot.option.label] * chance.normal(1, 0.01)
        writer.write_run(number, slot.option.levels, _tables(slot, tps, names, chance))


def _tables(
    slot: Slot, tps: float, names: list[tuple[str, str, str, float]], chance: np.random.Generator
) -> dict[str, Any]:
    length = WARM_UP_S + SECONDS + COOL_DOWN_S
    begins_ns = np.array([0, WARM_UP_S, WARM_UP_S + SECONDS], dtype=np.int64) * 10**9
    ends_ns = np.array([WARM_UP_S, WARM_UP_S + SECONDS, length], dtype=np.int64) * 10**9
    seconds = np.arange(-WARM_UP_S, SECONDS)
    times_ns = np.arange(length + 1, dtype=np.int64) * 10**9
    growth = np.array([[size * chance.normal(1, 0.01)] for *_, size in names])
    values = np.where(
        [[name.endswith("_total")] for _, _, name, _ in names],
        growth * np.arange(length + 1),
        growth * chance.normal(1, 0.01, (len(names), length + 1)),
    )
    place = np.repeat(np.arange(len(names)), length + 1)
    columns = [[name[part] for name in names] for part in range(3)]
    served = chance.poisson(tps * SECONDS / CLIENTS, CLIENTS)
    return {
        "runs": {
            "option": [slot.option.label],
            "block": [slot.block],
            "slot": [slot.slot],
            "attempt": [1],
            "status": ["done"],
            "cause": [""],
            "started_at": ["2026-01-01T00:00:00Z"],
            "seconds": [float(length)],
        },
        "phases": {
            "point": [0] * 3,
            "clients": [CLIENTS] * 3,
            "phase": ["warm-up", "measure", "cool-down"],
            "start_ns": begins_ns,
            "end_ns": ends_ns,
        },
        "throughput": {
            "point": [0] * len(seconds),
            "second": seconds,
            "statement": ["transaction"] * len(seconds),
            "count": chance.poisson(tps, len(seconds)),
            "errors": [0] * len(seconds),
        },
        "latency": {
            "point": [0],
            "statement": ["transaction"],
            "count": [int(tps * SECONDS)],
            "histogram": [histogram(int(tps * SECONDS), int(CLIENTS / tps * 1e9))],
        },
        "clients": {
            "point": [0] * CLIENTS,
            "client": range(CLIENTS),
            "transactions": served,
            "errors": [0] * CLIENTS,
            "mean_ns": [CLIENTS / tps * 1e9] * CLIENTS,
            "p99_ns": [CLIENTS / tps * 3e9] * CLIENTS,
        },
        "samples": {
            "t_ns": np.tile(times_ns, len(names)),
            "monitor": [columns[0][i] for i in place],
            "entity": [columns[1][i] for i in place],
            "metric": [columns[2][i] for i in place],
            "value": values.ravel(),
        },
    }


def histogram(count: int, middle_ns: int) -> bytes:
    """HdrHistogram, V2 encoding, 3 digits: counts that fall off on both sides of middle_ns."""
    bucket = max(0, middle_ns.bit_length() - 11)
    index = (bucket << 10) + (middle_ns >> bucket)
    shape = np.exp(-(((np.arange(801) - 400) / 120.0) ** 2))
    counts = np.maximum(1, shape / shape.sum() * count).astype(np.int64)
    payload = _zigzag(-(index - 400)) + b"".join(_zigzag(int(one)) for one in counts)
    head = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, 3, 1, 3_600_000_000_000, 1.0)
    return head + payload


def _zigzag(value: int) -> bytes:
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest >= 0x80 and len(out) < 8:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def report(bundle: Path) -> tuple[float, float]:
    """Seconds and peak MiB of one `steelyard report` in a process of its own."""
    program = "import sys; from steelyard.cli import main; sys.argv[0] = 'steelyard'; main()"
    begun = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-c", program, "report", str(bundle)], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"steelyard report ended with exit code {child.returncode}")
    return time.monotonic() - begun, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON on standard output")
    parser.add_argument("--quick", action="store_true", help="100 runs, 50 metrics, one repetition")
    parser.add_argument("--bundle", type=Path, help="keep the bundle here, or use the one that is there")
    asked = parser.parse_args()
    runs, metrics, times = (100, 50, 1) if asked.quick else (1000, 200, 3)
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
        bundle = asked.bundle or Path(folder) / "bundle"
        if not (bundle / "bundle.json").exists():
            make_bundle(bundle, runs, metrics)
        taken = [report(bundle) for _ in range(times)]
        page_mib = (bundle / "report.html").stat().st_size / 2**20
    seconds, mib = sorted(s for s, _ in taken), max(m for _, m in taken)
    result = {
        "runs": runs,
        "metrics": metrics,
        "seconds_min": round(seconds[0], 2),
        "seconds_median": round(seconds[len(seconds) // 2], 2),
        "seconds_max": round(seconds[-1], 2),
        "peak_mib": round(mib, 1),
        "page_mib": round(page_mib, 2),
        "target_seconds": TARGET_S,
        "target_mib": TARGET_MIB,
        "met": seconds[-1] <= TARGET_S and mib <= TARGET_MIB,
    }
    if asked.json:
        print(json.dumps(result))
        return
    print(f"{runs:,} runs x {SECONDS} s x {metrics} metrics, {times} repetitions")
    print(
        f"time   {result['seconds_min']} / {result['seconds_median']} / {result['seconds_max']} s"
        f" (min/median/max; target {TARGET_S:g} s)"
    )
    print(f"memory {result['peak_mib']} MiB at the peak (target {TARGET_MIB:g} MiB)")
    print(f"page   {result['page_mib']} MiB")


if __name__ == "__main__":
    main()
