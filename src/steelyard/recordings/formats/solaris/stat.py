"""vmstat and mpstat of Solaris. illumos prints the same; headings repeat, and so do names within one.

mpstat prints `st` in place of `wt` from 11.x on. Times are not printed: readings are numbered. The first
reading counts since the boot.
"""

from steelyard.recordings.columns import Columns
from steelyard.recordings.headings import Heading, heading_of
from steelyard.recordings.lines import has

_MPSTAT = r"^ *(?:CPU|SET) +minf +mjf +xcal\b.*\bidl\b"
_VMSTAT = r"^ *r +b +w +swap +free +re +mf\b.*\bid\s*$"
_PERCENT = ("usr", "us", "sys", "wt", "st", "idl", "id")


def _heading(columns: list[str]) -> Heading | None:
    if "xcal" not in columns and "swap" not in columns:
        return None
    # the second `sy` of vmstat is the CPU's; `in sy cs` are faults
    names = ["sys" if name == "sy" and columns[i - 1] == "us" else name for i, name in enumerate(columns)]
    # mpstat -a counts sets of processors
    return heading_of([f"%{name}" if name in _PERCENT else name for name in names], ("CPU", "SET"))


sniff = has(f"{_MPSTAT}|{_VMSTAT}")
read = Columns(
    "Solaris",
    _heading,
    {"cpu_busy_mpstat": r"(?:cpu|set) \d+", "cpu_busy_vmstat": "host"},
    since_boot=True,
    page=19,
)
