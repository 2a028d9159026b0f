"""dispadmin -g (Solaris): a dispatch table. Quanta are in units of 1/RES seconds."""

from steelyard.recordings.lines import Found, Lines, NotMine, Now, fact, has, known, numbers, rule, word

_RES = r"\s*RES\s*=\s*(?P<res>\d+)\s*"
_HEADING = r"\s*#\s*(?P<columns>(?i:(?:ts|ia|rt|fx)_quantum\b.*?)\s+(?i:PRIORITY LEVEL))\s*"


def _row(now: Now, found: Found) -> None:
    columns, cells, n = now.words["columns"].split()[:-2], found[1].split(), now.numbers
    now.report.facts["RES"] = f"{n['res']:.0f}"
    level = n["level"] = int(found[2]) if found[2] else n.get("level", -1) + 1
    # -2 is an endless quantum
    if len(cells) != len(columns) or int(cells[0]) < 0 or not n["res"]:
        raise NotMine
    for name, cell in zip(columns, cells, strict=True):
        quantum = name.endswith("quantum")
        value = int(cell) * 1000 / n["res"] if quantum else float(cell)
        now.report.sample(0, f"priority {level:.0f}", "quantum_ms" if quantum else name, value)


sniff = has(rf"^{_RES}$", rf"^{_HEADING}$")
read = Lines(
    (
        numbers(_RES),
        word(_HEADING),
        fact(r"\s*#\s*([A-Za-z].*?)(?: Configuration)?\s*", "class"),
        known(r"\s*#\s*$"),
        rule(r"((?:\s*-?\d+)+)\s*(?:#\s*(\d+))?\s*", _row),
    )
)
