"""dispadmin -g (Solaris): a dispatch table. Quanta are in units of 1/RES seconds."""

from steelyard.recordings.lines import Found, Lines, NotMine, Now, fact, has, known, rule, word

_RES = r"\s*RES\s*=\s*(\d+)\s*"
_HEADING = r"\s*#\s*\(?(?P<columns>(?i:(?:ts|ia|rt|fx)_quantum\b.*?))\)?\s+(?i:(?:PRIORITY )?LEVEL)\s*"


def _row(now: Now, found: Found) -> None:
    columns, cells, res = now.words["columns"].split(), found[1].split(), int(now.report.facts["RES"])
    level = int(found[2] or now.numbers[columns[0]])
    now.numbers[columns[0]] = level + 1
    # -2 is an endless quantum; a level that comes again is of another table
    row = f"{columns[0]} {level}"
    if len(cells) != len(columns) or int(cells[0]) < 0 or not res or row in now.seen:
        raise NotMine
    now.seen.add(row)
    for name, cell in zip(columns, cells, strict=True):
        quantum = name.endswith("quantum")
        value = int(cell) * 1000 / res if quantum else float(cell)
        now.report.sample(0, f"priority {level}", f"{name}_ms" if quantum else name, value)


sniff = has(rf"^{_RES}$", rf"^{_HEADING}$")
read = Lines(
    (
        fact(_RES, "RES"),
        word(_HEADING),
        known(r"\s*#\s*(?:$|[A-Za-z])"),
        rule(r"((?:\s*-?\d+)+)\s*(?:#\s*(\d+))?\s*", _row),
    )
)
