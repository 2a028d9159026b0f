"""The offset between two clocks, from exchanges of readings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.fleet.connection import Offset, drift_ns, offset_of

DELAYS = st.integers(0, 10_000_000)


def exchange(sent_ns: int, out_ns: int, back_ns: int, offset_ns: int) -> tuple[int, int, int]:
    return sent_ns, sent_ns + out_ns + offset_ns, sent_ns + out_ns + back_ns


@given(st.lists(st.tuples(DELAYS, DELAYS), min_size=1, max_size=9), st.integers(-(10**15), 10**15))
def test_the_offset_is_off_by_no_more_than_its_bound_however_unlike_the_ways(
    ways: list[tuple[int, int]], offset_ns: int
) -> None:
    exchanges = [exchange(n * 10**9, *way, offset_ns) for n, way in enumerate(ways)]
    found = offset_of(exchanges)
    assert abs(found.offset_ns - offset_ns) <= found.bound_ns
    assert found.bound_ns == (min(map(sum, ways)) + 1) // 2


def test_the_exchange_with_the_shortest_round_trip_counts() -> None:
    found = offset_of(
        [exchange(0, 900, 100, 5_000), exchange(10, 50, 50, 5_000), exchange(20, 0, 800, 5_000)]
    )
    assert found == Offset(5_000, 50, 110)


def test_times_go_to_the_host_and_back() -> None:
    clock = Offset(200_000_000, 10, 0)
    assert clock.to_host(7) == 200_000_007
    assert clock.to_lab(clock.to_host(7)) == 7


def test_drift_is_what_the_offset_grew_by() -> None:
    assert drift_ns(Offset(100, 10, 0), Offset(-50, 10, 10**9)) == -150


def test_without_an_exchange_there_is_no_offset() -> None:
    with pytest.raises(ValueError, match="empty"):
        offset_of([])
