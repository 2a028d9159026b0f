"""What `steelyard fleet check` says of hosts."""

from __future__ import annotations

import json

from fleet_hosts import LOADS, Fleet

from steelyard.version import VERSION


def test_check_finds_clocks_network_and_limits(calm: Fleet) -> None:
    process = calm.steelyard("fleet", "check", "hosts.toml", "--json")
    out, error = process.communicate(timeout=90)
    assert process.returncode == 0, error
    found = json.loads(out)
    assert list(found["hosts"]) == list(LOADS)
    near, ahead, far = (found["hosts"][name] for name in LOADS)
    assert abs(ahead["offset_ms"] - 200) <= ahead["bound_ms"]
    assert far["round_trip_ms"] > 10 > near["round_trip_ms"]
    assert near["megabytes_per_s"] > 1
    assert near["version"] == VERSION
    assert any("load3: its start may be off by" in text for text in found["findings"])
    assert any("load1: at most" in text and "clients" in text for text in found["findings"])
