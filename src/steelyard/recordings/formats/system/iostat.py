"""iostat (Linux). Its first report counts since the boot: it is left out where others follow."""

from steelyard.recordings.columns import Columns
from steelyard.recordings.headings import Heading, heading_of
from steelyard.recordings.lines import has


def _heading(columns: list[str]) -> Heading | None:
    if columns[0] == "avg-cpu:":
        return heading_of(columns[1:], of="cpu all")
    # with --pretty the device stands last
    names = [name for name in columns if name.startswith("Device")]
    return heading_of(columns, names) if names else None


sniff = has(r"^(?:avg-cpu:\s+%user|Device:?\s+\S*(?:tps|/s)|.*/s .* Device$)", r"^(?:Linux \S+ \(|avg-cpu:)")
read = Columns("iostat", _heading, {"cpu_busy_iostat": "cpu all"}, since_boot=True, idle="device .*")
