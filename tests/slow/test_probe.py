"""The kernel's probes against `perf` beside them."""

from __future__ import annotations

import collections
import math
import subprocess
from pathlib import Path

import pytest
from probing import HZ, looked_at, needs_perf_events, probe, running, samples


@needs_perf_events
@pytest.mark.needs("perf")
def test_shares_of_functions_agree_with_perf_beside_it(tmp_path: Path) -> None:
    data = str(tmp_path / "perf.data")
    seconds = 5
    with running("dd", "if=/dev/zero", "of=/dev/null", "bs=64k") as busy:
        it = probe({"server": busy.pid}, profile_hz=HZ)
        record = ["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", str(HZ), "-o", data]
        with running(*record, "--", "sleep", str(seconds)) as perf:
            told = looked_at(it, seconds)
            perf.wait()
    script = ["perf", "script", "-i", data, "-F", "pid,ip,sym", "--pid", str(busy.pid)]
    lines = subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines()
    theirs = collections.Counter(line.split()[2] for line in lines if len(line.split()) > 2)
    ours = {name.removesuffix("_[k]"): count for name, count in samples(told, "server").items()}
    compare_shares(ours, dict(theirs))


def compare_shares(ours: dict[str, int], theirs: dict[str, int]) -> None:
    """Within four standard errors of the difference of two proportions."""
    n, m = sum(ours.values()), sum(theirs.values())
    assert min(n, m) > 30
    # a stripped library's functions are named by neither, each in its own way
    frequent = [name for name in ours if ours[name] / n >= 0.05 and not name.startswith("[")]
    assert frequent
    for name in frequent:
        p, q = ours[name] / n, theirs.get(name, 0) / m
        both = (ours[name] + theirs.get(name, 0)) / (n + m)
        assert abs(p - q) <= 4 * math.sqrt(both * (1 - both) * (1 / n + 1 / m)), name
