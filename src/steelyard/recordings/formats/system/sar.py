"""sar of sysstat, as text: where the binary file is gone. `sadf -j` of the binary is the better source."""

from steelyard.recordings.columns import Columns, sysstat
from steelyard.recordings.lines import has
from steelyard.recordings.source import BANNER

TITLE = "sar (Linux), as text"

_NAMES = ("CPU", "DEV", "IFACE", "INTR", "BUS", "TTY", "FILESYSTEM", "FCHOST")
sniff = has(
    BANNER.pattern,
    r"^\d\d:\d\d:\d\d(?: [AP]M)?\s+(?:CPU\s+(?:%user|%usr.*%steal\s+%irq)|proc/s|runq-sz|kbmemfree|kbswpfree"
    r"|pgpgin/s|tps|IFACE|DEV|INTR|dentunusd|pswpin/s|TTY|MBfsfree|totsck|CPU\s+MHz)",
)
read = Columns("sar", lambda columns: sysstat(columns, _NAMES), {"cpu_busy_sar": "cpu all"})
