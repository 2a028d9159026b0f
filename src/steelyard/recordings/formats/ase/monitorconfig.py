"""ASE sp_monitorconfig: configured resources in use. One report of all 'Usage information at date and time'.

A cache that fills and is never reclaimed is seen in a series; its figure is its last. 12.5 gives Reused as
Yes or No, 15 and later a count.
"""

import re

from steelyard.recordings.cells import exact, moment_in, number, slug
from steelyard.recordings.lines import Found, Lines, NotMine, Now, has, known, rule
from steelyard.recordings.tables import Row

# its columns are named
sniff = has(r"(?i)\bnum_free\s+num_active\s+pct_act\b")


def _time(now: Now, found: Found) -> None:
    now.numbers["at_s"] = now.report.at(moment_in(found[1] or "", "%b %d %Y %I:%M%p"))


def _resource(now: Now, row: Row) -> None:
    """Adds a row. num_active has its limit beside it: what is free and what is active together."""
    cells, report = row.cells, now.report
    free, active, most = number(cells["num_free"]), exact(cells["num_active"]), number(cells["max_used"])
    reused = next((cells[name] for name in ("reused", "reuse_cnt", "num_reuse") if name in cells), "")
    # isql prints NULL for what has no value
    if not all(cells.values()) or not re.fullmatch(r"Yes|No|NA|NULL|\d*", reused):
        raise NotMine
    name, values = cells["name"], {"num_active": active, "max_used": most}
    if free is not None and free + active > 0:
        values |= {"num_active_limit": free + active, "active_percent": 100 * active / (free + active)}
    if reused in ("Yes", "No"):
        values["reused"] = float(reused == "Yes")
    elif reused.isdigit():
        values["reused_total"] = float(reused)
    for metric, value in values.items():
        report.sample(now.numbers["at_s"], name, metric, value)
    if name.startswith("procedure cache size"):
        report.figure(slug(name) + "_active", active, "pages of 2 KB")


# samples at the times that the file gives
read = Lines(
    (
        rule(r".*Usage information at(?: date and time: (\w{3} +\d+ \d{4} +\d+:\d\d[AP]M))?.*", _time),
        known(r"\s*(?:\(\d+ rows? affected\)|\(return status = 0\))"),
    ),
    table=_resource,
)
