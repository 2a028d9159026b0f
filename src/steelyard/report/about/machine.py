"""The machine in a dozen rows that a reader can take in; every fact is in environment.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from steelyard import quantities as fmt

# each row with the facts that make it, in the order of what matters: group, name, its text
_ROWS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "CPU": (("cpu", "model", "{}"), ("cpu", "architecture", "{}"), ("cpu", "microcode", "microcode {}")),
    "cores": (
        ("cpu", "cpus_usable", "{} CPU(s) usable"),
        ("cpu", "cpus_online", "{} online"),
        ("cpu", "cores", "{} core(s)"),
        ("cpu", "sockets", "{} socket(s)"),
        ("cpu", "numa_nodes", "{} NUMA node(s)"),
        ("cpu", "smt", "SMT {}"),
    ),
    "governor": (
        ("cpu", "governor", "{}"),
        ("cpu", "frequency_driver", "driver {}"),
        ("cpu", "frequency_khz_min", "from {} kHz"),
        ("cpu", "frequency_khz_max", "to {} kHz"),
        ("cpu", "turbo_off", "turbo off: {}"),
    ),
    "memory": (
        ("memory", "total_bytes", "{}"),
        ("memory", "available_bytes", "{} available"),
        ("memory", "swap_total_bytes", "swap {}"),
        ("memory", "swappiness", "swappiness {}"),
    ),
    "huge pages": (
        ("memory", "transparent_huge_pages", "transparent: {}"),
        ("memory", "transparent_huge_pages_defrag", "defragmented: {}"),
        ("memory", "nr_hugepages", "reserved: {}"),
    ),
    "virtualisation": (
        ("virtualization", "machine", "{}"),
        ("virtualization", "container", "in {}"),
        ("virtualization", "vendor", "{}"),
        ("virtualization", "product", "{}"),
        ("virtualization", "cgroup_cpus_limit", "limited to {} CPU(s)"),
        ("virtualization", "cgroup_memory_limit_bytes", "limited to {}"),
    ),
    "kernel": (("kernel", "release", "Linux {}"), ("kernel", "build", "{}")),
    "clock source": (("kernel", "clock_source", "{}"),),
    "isolated CPUs": (("kernel", "isolated_cpus", "{}"),),
    "mitigations": (("mitigations", "active", "active: {}"), ("mitigations", "vulnerable", "vulnerable: {}")),
    "storage": (
        ("storage", "filesystem", "{}"),
        ("storage", "device", "on {}"),
        ("storage", "device_scheduler", "scheduler {}"),
        ("storage", "device_write_cache", "{}"),
        ("storage", "free_bytes", "{} free"),
        ("storage", "data_dir", "data in {}"),
    ),
    "load at start": (
        ("load at start", "average_1_min", "{} over 1 min"),
        ("load at start", "average_5_min", "{} over 5 min"),
        ("load at start", "cpu_stalled_percent_10_s", "tasks waited for a CPU {} % of 10 s"),
    ),
    "open files": (("limits", "open_files_soft", "{} at most"),),
    "Steelyard": (
        ("steelyard", "version", "{}"),
        ("steelyard", "python", "{}"),
        ("steelyard", "package_git_commit", "commit {}"),
        ("steelyard", "package_git_dirty", "changed since"),
    ),
    "command line": (("kernel", "cmdline", "{}"),),
}
_GROUPS = {group for facts in _ROWS.values() for group, _, _ in facts}
_NOT_OF_THE_MACHINE = {"server", "servers", "placement", "study"}


def machine_rows(environment: Mapping[str, Any]) -> dict[str, str]:
    """Text by name, in the order to be shown; rows without any fact are left out.

    What a recording tells of its machine in groups of its own follows as it is.
    """
    texts = {name: "; ".join(_facts(environment, facts)) for name, facts in _ROWS.items()}
    for group, facts in environment.items():
        if group not in _NOT_OF_THE_MACHINE and (group not in _GROUPS or not isinstance(facts, Mapping)):
            found = cast(Mapping[str, Any], facts) if isinstance(facts, Mapping) else {"": facts}
            for name, fact in found.items():
                if isinstance(fact, str | int | float):
                    texts[f"{group} {name}".replace("_", " ").strip()] = str(fact)
    return {name: text for name, text in texts.items() if text}


def _facts(environment: Mapping[str, Any], facts: tuple[tuple[str, str, str], ...]) -> list[str]:
    found: list[str] = []
    for group, name, words in facts:
        known = environment.get(group)
        fact = cast(Mapping[str, Any], known).get(name) if isinstance(known, Mapping) else None
        # 0 is a fact, such as no swap; False and what is not known are none
        if fact is None or fact is False or fact == "":
            continue
        text = fmt.quantity(fact, "bytes") if name.endswith("_bytes") else str(fact)
        found.append(words.replace("(s)", "" if fact == 1 else "s").format(text))
    return found
