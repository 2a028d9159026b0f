import os
import platform
from dataclasses import replace

import builders

from steelyard.lab.environment.environment import environment
from steelyard.report.about.provenance import machine_rows
from steelyard.report.page.html import render
from steelyard.report.presented import Presented


def test_this_machine_is_told_in_rows_with_names_for_people() -> None:
    rows = machine_rows(environment())
    usable = len(os.sched_getaffinity(0))
    assert rows["cores"].startswith(f"{usable} CPU{'s' * (usable != 1)} usable; ")
    assert rows["kernel"].startswith(f"Linux {platform.release()}; ")
    assert not [name for name in rows if "_" in name]


def test_sizes_have_units_none_is_left_out_and_zero_is_a_fact() -> None:
    facts = {
        "memory": {"total_bytes": 25276514304, "swap_total_bytes": 0},
        "cpu": {"sockets": 1, "cores": 2},
        "steelyard": {"version": "0.1.0", "package_git_dirty": False},
        "virtualization": {},
    }
    assert machine_rows(facts) == {
        "cores": "2 cores; 1 socket",
        "memory": "23.5 GiB; swap 0 B",
        "Steelyard": "0.1.0",
    }


def test_what_a_recording_tells_of_its_own_follows() -> None:
    facts = {
        "cpu": {"model": "SPARC64"},
        "disk_array": {"spindles": 12},
        "servers": {"A": {}},
        "site": "lab 2",
    }
    assert machine_rows(facts) == {"CPU": "SPARC64", "disk array spindles": "12", "site": "lab 2"}


def test_a_long_value_is_folded_in_the_page() -> None:
    judgement, series, about = builders.two()
    words = " ".join(f"word{n}=1" for n in range(40))
    page = render(Presented(judgement, series, replace(about, machine={"command line": words, "CPU": "AMD"})))
    assert f"<dt>command line</dt><dd><details><summary>word0=1 word1=1 word2=1 …</summary>{words}<" in page
    assert "<dt>CPU</dt><dd>AMD</dd>" in page
