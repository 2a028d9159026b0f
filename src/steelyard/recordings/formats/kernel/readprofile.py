"""readprofile and kernprof (Linux). Ticks of the kernel's functions."""

import re
from itertools import chain

from steelyard.errors import InputError
from steelyard.recordings.lines import Found, Lines, Now, rule

_TICKS = r"\s*(?P<count>\d+) +(?P<name>[A-Za-z_]\S*) +\d+\.\d+\s*"
_KERNPROF = r"\s*(?P<name>[A-Za-z_]\S*)(?: \[[0-9a-f]+\]:)? +(?P<count>\d+)(?: \( ?[\d.]+%\))?\s*"


def sniff(head: str) -> bool:
    """Whether most of the first lines are ticks, symbol and load, or kernprof's."""
    lines = [line for line in head.split("\n")[:40] if line.strip()]
    fitting = sum(bool(re.fullmatch(_TICKS, line)) for line in lines)
    kernprof = re.search(r"^\s*TOTAL_SAMPLES +\d+", head, re.MULTILINE)
    return bool(kernprof) or fitting > 0.6 * len(lines)


def _count(now: Now, found: Found) -> None:
    n, total = now.numbers, found["name"] in ("total", "TOTAL_SAMPLES")
    # kernprof begins with its total, as a sorted readprofile does; readprofile ends with it
    n["leads"] += total and not now.counts
    n["capture"] += total and n["leads"]
    name = "total" if total else found["name"]
    n["again"] += (name, n["capture"]) in now.counts
    now.counts[name, n["capture"]] += int(found["count"])
    n["capture"] += total and not n["leads"]
    n["totals"] += total


def _close(now: Now) -> None:
    """Ticks between the first and the last capture where there are several."""
    # few functions have the same name
    if 2 * now.numbers["again"] > len(now.counts):
        raise InputError(f"{now.report.place}: captures without their totals", "give each its `total` line")
    captures: dict[float, dict[str, int]] = {}
    for (name, at), count in now.counts.items():
        # where it is sorted otherwise, the only total stands among its functions
        captures.setdefault(at * (now.numbers["totals"] != 1), {})[name] = count
    found = list(captures.values())
    names = dict.fromkeys(chain(*found))
    # functions without ticks are not printed, nor are those that a list leaves out
    if any(sum(ticks.values()) < 2 * ticks.get("total", 0) for ticks in found):
        names = [name for name in names if all(name in ticks for ticks in found)]
    for ticks in found:
        listed = {name: ticks.get(name, 0) for name in names if name != "total"}
        if rest := max(0, ticks.get("total", 0) - sum(listed.values())):
            listed["functions not listed"] = rest
        for name, count in listed.items():
            now.report.stack(name if name == "USER" else f"{name}_[k]", count)
    if len(found) > 1:
        now.report.differences("profile", "the kernel's profile")


read = Lines((rule(_TICKS, _count), rule(_KERNPROF, _count)), _close)
