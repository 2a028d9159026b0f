"""sar (Linux), as text. Where the binary file is gone: `sadf -j` of the binary is the better source."""

from steelyard.recordings.cells import CLOCK
from steelyard.recordings.columns import Columns
from steelyard.recordings.headings import Heading, heading_of
from steelyard.recordings.lines import has
from steelyard.recordings.source import BANNER

_NAMES = ("CPU", "DEV", "IFACE", "INTR", "BUS", "TTY", "FILESYSTEM", "MOUNTPOINT", "FCHOST")
sniff = has(
    BANNER.pattern,
    rf"^{CLOCK}\s+(?:CPU\s+(?:%user|%usr.*%steal\s+%irq)|proc/s|runq-sz|kbmemfree|kbswpfree"
    r"|pgpgin/s|tps|IFACE|DEV|INTR|dentunusd|pswpin/s|TTY|MBfsfree|totsck|CPU\s+MHz)",
)


def _heading(columns: list[str]) -> Heading | None:
    if columns[0] == "COM" or (len(columns) == 1 and not columns[0].endswith("/s")):
        # a comment, or a row that was cut off
        return None
    # NFS and TCP both count `retrans/s`
    return heading_of(
        [f"nfs-{c}" if c == "retrans/s" and "call/s" in columns else c for c in columns], _NAMES
    )


read = Columns("sar", _heading, {"cpu_busy_sar": "cpu all"}, idle="(?:dev|iface) .*")
