"""What two CPUs share, from trees like the kernel's."""

from pathlib import Path

import pytest

from steelyard.subjects.latches import shared


def machine(place: Path, cpus: dict[int, tuple[int, int]], caches: dict[int, str]) -> Path:
    """cpus: package and core by number; caches: level to the list of CPUs that share CPU 0's."""
    for cpu, (package, core) in cpus.items():
        topology = place / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{package}\n")
        (topology / "core_id").write_text(f"{core}\n")
    for level, members in caches.items():
        index = place / "cpu0" / "cache" / f"index{level}"
        index.mkdir(parents=True)
        (index / "level").write_text(f"{level}\n")
        (index / "shared_cpu_list").write_text(f"{members}\n")
    return place


@pytest.mark.parametrize(
    ("other", "share"), [(1, "core"), (2, "L2 cache"), (5, "L3 cache"), (6, "socket"), (8, "nothing")]
)
def test_the_nearest_thing_is_named(tmp_path: Path, other: int, share: str):
    cpus = {0: (0, 0), 1: (0, 0), 2: (0, 1), 5: (0, 2), 6: (0, 3), 8: (1, 0)}
    place = machine(tmp_path, cpus, {1: "0-1", 2: "0-3", 3: "0-3,5"})
    assert shared(0, other, place) == share


def test_a_machine_that_says_nothing_is_not_guessed_at(tmp_path: Path):
    assert shared(0, 1, tmp_path) == ""
