"""Imported readings agree with the counters that they were formed from, over the time that they cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readings import readings

from steelyard.recordings.registry import reports_in
from steelyard.recordings.source import Source

BEGAN = datetime(2026, 3, 2, 23, 59, 30)
BANNER = "Linux 6.1.0 (host) \t2026-03-02 \t_x86_64_\t(2 CPU)\n\n"
Printer = Callable[[Sequence[int], Sequence[int]], str]


def vmstat(switches: Sequence[int], idle: Sequence[int]) -> str:
    """The first row counts since the boot: whatever it says is not of the interval."""
    head = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- ----timestamp----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st              UTC\n"
    )
    rows = [(0, 987_654, 1), *((i, n, e) for i, (n, e) in enumerate(zip(switches, idle, strict=True), 1))]
    return head + "".join(
        f" 1  0      0   1000     10     20    0    0     5     6  700 {n} {100 - e} 0 {e}  0  0"
        f" {BEGAN + timedelta(seconds=i)}\n"
        for i, n, e in rows
    )


def sar(switches: Sequence[int], idle: Sequence[int]) -> str:
    text = BANNER + f"{BEGAN:%H:%M:%S}       proc/s   cswch/s\n"
    for i, n in enumerate(switches, 1):
        text += f"{BEGAN + timedelta(seconds=i):%H:%M:%S}         1.00  {n}.00\n"
    text += f"\n{BEGAN:%H:%M:%S}        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    for i, e in enumerate(idle, 1):
        at = BEGAN + timedelta(seconds=i)
        text += (
            f"{at:%H:%M:%S}        all     {100 - e}.00      0.00      0.00      0.00      0.00     {e}.00\n"
        )
    return text


@pytest.mark.parametrize(("printed", "name"), [(vmstat, "cs"), (sar, "cswch_per_s")])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    counts=st.integers(2, 90).flatmap(
        lambda n: st.lists(st.tuples(st.integers(0, 90_000), st.integers(0, 100)), min_size=n, max_size=n)
    ),
)
def test_readings_cover_the_time_in_which_their_events_happened(
    tmp_path: Path, printed: Printer, name: str, counts: list[tuple[int, int]]
) -> None:
    switches, idle = [n for n, _ in counts], [e for _, e in counts]
    place = tmp_path / "report.txt"
    place.write_text(printed(switches, idle))
    (report,) = reports_in(Source(place))
    # from the row since the boot, or the first heading, to the last row
    assert (report.began, report.seconds) == (BEGAN, float(len(counts)))
    rates = report.samples.values_of(name)
    assert sum(rates) * report.seconds / len(rates) == pytest.approx(sum(switches))
    times = [sample.at_s for sample in readings(report.samples) if sample.metric == name]
    assert times == [float(i) for i in range(1, len(counts) + 1)]
    (busy,) = [figure.value for figure in report.figures]
    assert busy == pytest.approx(100 - sum(idle) / len(idle))
