"""lockmeter's lockstat (Linux 2.4, 2.6). Spinlocks and reader-writer locks, with their callers.

The number of waits is the printed share of all acquisitions: a ratio of rounded figures. Lines may
be wrapped: a row that ends early is read together with the next line.
"""

import re

from steelyard.recordings.cells import exact, time_ns
from steelyard.recordings.lines import Found, Lines, NotMine, Now, Words, has, known, noted, numbers, rule

_T = r"[\d.]+(?:us|ms|s)?"
_P = r"[\d.]+\s?%"
# of a lock or a call site; no share, as a damaged one before it would be
_NAME = r"(?P<name>[A-Za-z_*\[&][^%]*[^%\s])"
# NOWAIT SPIN RJECT, of all acquisitions; an older layout has none of them
_SHARES = rf"(?:\s+{_P}(?:\s+(?P<spin>{_P})(?:\s+{_P})?)?)?"
_ROW = re.compile(
    rf"\s*(?:(?P<util>{_P}|[\d.]+(?= +[\d.]+%))\s+)?(?P<con>{_P})\s+(?P<hold>{_T})"
    rf"(?:\(\s*(?P<hold_max>{_T})\))?\s+(?P<wait>{_T})(?:\(\s*(?P<wait_max>{_T})\))?"
    rf"(?:\(\s*(?P<cpu>[\d.]+)\s*%\))?\s+(?:{_T}(?:\(\s*{_T}\))?\s+)?"
    rf"(?P<total>\d+){_SHARES}(?:\(\s*{_P}\))?\s+{_NAME}\s*"
)
_READS = re.compile(
    rf"\s*(?:(?P<util>{_P})\s+)?(?P<con>{_P})\s+(?P<hold>{_T})\s+(?P<readers>\d+)\s+(?P<busy>{_T})"
    rf"(?:\(\s*{_T}\))?\s+(?P<wait>{_T})(?:\(\s*(?P<wait_max>{_T})\))?(?:\(\s*(?P<cpu>[\d.]+)\s*%\))?\s+"
    rf"(?P<total>\d+){_SHARES}\s+{_NAME}\s*"
)
_TYPES = {"SPINLOCKS": "spinlock", "RWLOCK READS": "rwlock:R", "RWLOCK WRITES": "rwlock:W"}


def _section(now: Now, found: Found) -> None:
    now.words = Words(section=found["section"])


def _heading(now: Now, found: Found) -> None:
    now.numbers["name"] = len(found[1])


def _continue(now: Now, found: Found) -> None:
    row = now.report.rows["locks"][-1]
    row["call_site" if row["call_site"] else "lock"] += found[1]


def _wrapped(now: Now, found: Found) -> None:
    """A row that ends early, together with the next line."""
    whole = f"{found[0]}\n{now.below}"
    if (row := _ROW.fullmatch(whole) or _READS.fullmatch(whole)) is None:
        raise NotMine
    _lock(now, row)
    now.words["rest"] = now.below


def _rest(now: Now, found: Found) -> None:
    if now.words.pop("rest", "") != found[0]:
        raise NotMine


def _lock(now: Now, row: Found) -> None:
    section, parent = now.words.get("section", "SPINLOCKS"), now.words["parent"]
    if ("readers" in row.groupdict()) != (section == "RWLOCK READS"):
        raise NotMine
    # callers stand two blanks to the right of their lock
    before = row[0][: row.start("name")]
    indent = len(before) - (len(before.rstrip()) + 1 if "\n" in before else int(now.numbers["name"]))
    if indent <= 1:
        parent = ""
    now.words["parent"] = parent or row["name"]
    total, util = int(row["total"]), row["util"] or ""
    # an attempt that was rejected did not wait: the mean is of those that spun
    waited = round(total * exact((row["spin"] or row["con"]).rstrip("% ")) / 100)
    values = {
        "contended": round(total * exact(row["con"].rstrip("% ")) / 100),
        "wait_total_ns": round(waited * (time_ns(row["wait"]) or 0.0)),
        "wait_max_ns": round(time_ns(row["wait_max"] or "0") or 0.0),
        "wait_cpu_percent": exact(row["cpu"]) if row["cpu"] else None,
        "hold_mean_ns": time_ns(row["hold"]),
        "hold_max_ns": time_ns(row.groupdict("").get("hold_max", "")),
        "utilisation_percent": exact(util.rstrip("% ")) if util.endswith("%") else None,
    }
    type_ = "" if row["name"].startswith("*") else _TYPES[section]
    now.report.lock(parent or row["name"], type_, row["name"] if parent else "", acquisitions=total, **values)


sniff = has(r"^[>\s]*SPINLOCKS\s+HOLD\s+WAIT")
read = Lines(
    (
        rule(".*", _rest),
        rule(r"\s*(?P<section>SPINLOCKS|RWLOCK READS|RWLOCK WRITES)\b.*", _section, once="{section}"),
        rule(r"(.*TOTAL.*\b)NAME\s*", _heading),
        noted(r".*(?i:overflowed|may be in error).*", "lockmeter warns: {}"),
        rule(r"\s*(\+0x\S*)\s*", _continue),
        rule(_ROW.pattern, _lock),
        rule(_READS.pattern, _lock),
        rule(r"\s*[\d.]+ ?%.*", _wrapped),
        numbers(r".*Delta Time: (?P<seconds>N) sec.*", once="delta"),
        known(r"\s*(?:UTIL|TOT/SEC|System:|Total counts|All \(\d+\) CPUs|Start time|End +time|_+|- -)"),
    )
)
