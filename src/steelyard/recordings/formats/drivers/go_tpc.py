"""go-tpc: [Summary] and tpmC. The line of tpmC ends a run. Percentiles are go-tpc's own."""

import re

from steelyard.recordings.cells import exact, slug
from steelyard.recordings.lines import Found, Lines, Now, has, known, numbers, rule, worked

_PAIR = re.compile(r"([\w().]+): (\d+(?:\.\d+)?)")
_OF = r"\] (?P<of>\w+) +- (Takes\(s\): [\d.]+(?:, [\w().]+: [\d.]+)+)\s*"
_SLACK = 0.01


def _line(now: Now, found: Found) -> None:
    cells = dict(_PAIR.findall(found[3]))
    values = {name: exact(cell) for name, cell in cells.items()}
    took_s, n, entity = values.get("Takes(s)", 0.0), now.numbers, f"{found[1].lower()} {found['of']}"
    if current := found[1] == "Current":
        # Takes counts from the first transaction of its kind in an interval
        n["until"] = n[entity] = max(n[entity] + took_s, n["until"])
    # 16106.1: the class of 16 s, the limit of go-tpc's histogram, has all that took longer
    now.report.samples.add_row(n[entity], entity, {slug(k): v for k, v in values.items() if v != 16106.1})
    if current:
        return
    count = values.get("Count", 0)
    n["seconds"] = max(n["seconds"], took_s)
    name = "failed" if found["of"].endswith("_ERR") else "done"
    n[name] += count
    # go-tpc adds up rates, each over the time since the first of its kind
    if took_s and (per_min := values.get("TPM")):
        n[name + "_per_min"] += per_min
        text = f"{per_min:g} {found['of']} per min, and {count:,.0f} in {took_s:g} s"
        now.report.foot(text, per_min * took_s / 60, count, _SLACK + 0.05 / per_min + 0.05 / took_s)
    # a mean of few comes from classes of a histogram
    if name == "done" and (mean := values.get("Avg(ms)")):
        total = values.get("Sum(ms)", count * mean)
        text = f"{count:,.0f} {found['of']} of {mean:g} ms and a sum of {total:g} ms"
        # older versions cut the mean off to whole milliseconds
        now.report.foot(text, count * mean, total, _SLACK + (0.05 if "." in cells["Avg(ms)"] else 1.0) / mean)


def _rates(now: Now, found: Found) -> None:
    now.report.figure("tpmc", exact(found[1]), "new orders/min", "higher")
    now.report.figure("tpm_total", exact(found[2]) if found[2] else None, "transactions/min", "higher")


def _close(now: Now) -> None:
    worked(now)
    total, added = now.report.value("tpm_total"), now.numbers["done_per_min"]
    if total and added:
        now.report.foot(f"tpmTotal {total:g}, and rates of {added:g} in all", total, added, _SLACK)


sniff = has(r"^\[(Summary|Current)\] \w+ +- Takes\(s\): ")
read = Lines(
    (
        rule(rf"\s*\[(Current){_OF}", _line),
        rule(rf"\s*\[(Summary){_OF}", _line, "{of}"),
        rule(r"\s*tpmC: (N)(?:, tpmTotal: (N))?(?:, efficiency: N%)?\s*", _rates, once="rates"),
        # a CH run states its workers
        numbers(r"Finished: (?P<clients>\d+) OLTP workers.*"),
        known("Finished|Starting|creating|load|begin|finish|PREPARE|maxprocs"),
    ),
    _close,
    after=("rates", r"\s*\[|Finished|Starting"),
)
