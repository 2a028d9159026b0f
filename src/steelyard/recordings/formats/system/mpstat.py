"""mpstat (Linux)."""

from steelyard.recordings.cells import CLOCK
from steelyard.recordings.columns import Columns
from steelyard.recordings.headings import heading_of
from steelyard.recordings.lines import has
from steelyard.recordings.source import BANNER

# `sar -u ALL` has the same columns in another order
sniff = has(BANNER.pattern, rf"^{CLOCK}\s+CPU\s+%usr\s+%nice(?!.*%steal\s+%irq)")
read = Columns(
    "mpstat", lambda columns: heading_of(columns, ("CPU", "INTR", "NODE")), {"cpu_busy_mpstat": "cpu all"}
)
