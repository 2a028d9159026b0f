"""A study leaves the machine as it was: each pair and copy of settings of the kernel, by lab and by guard."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from kernel_settings import (
    FORWARD,
    PAIRS,
    REDIRECTS,
    check_copies,
    check_end,
    check_pair,
    kept_machine,
    needs_root,
)
from laboratory import Lab

pytestmark = needs_root
by_lab_and_guard = pytest.mark.parametrize("by_guard", [False, True])


@pytest.fixture(autouse=True)
def machine() -> Iterator[dict[str, str]]:
    with kept_machine() as before:
        yield before


@by_lab_and_guard
@pytest.mark.parametrize(("active", "old", "_"), PAIRS)
def test_a_pair_has_its_old_values_again_whichever_was_active(
    active: str, old: str, _: str, by_guard: bool
) -> None:
    check_pair(active, old, by_guard)


@pytest.mark.parametrize(
    ("name", "copy", "before"),
    [
        (FORWARD, REDIRECTS, "0"),
        ("net/ipv4/conf/all/forwarding", "net/ipv4/conf/lo/forwarding", "1"),
        ("net/ipv4/conf/default/rp_filter", "net/ipv4/conf/lo/rp_filter", ""),
        ("net/ipv4/neigh/default/retrans_time_ms", "net/ipv4/neigh/default/retrans_time", ""),
        ("net/ipv4/tcp_congestion_control", "net/ipv4/tcp_allowed_congestion_control", ""),
        ("net/ipv6/route/gc_min_interval", "net/ipv6/route/gc_min_interval_ms", ""),
        ("fs/inotify/max_user_instances", "user/max_inotify_instances", ""),
        ("vm/nr_hugepages", "vm/nr_hugepages_mempolicy", ""),
    ],
)
@by_lab_and_guard
def test_settings_that_the_kernel_copies_elsewhere_leave_no_copy(
    name: str, copy: str, before: str, by_guard: bool
) -> None:
    check_copies(name, copy, before, by_guard)


def test_the_machine_is_as_before_when_ctrl_c_ends_a_study(lab: Lab) -> None:
    check_end(lab, signal.SIGINT)
