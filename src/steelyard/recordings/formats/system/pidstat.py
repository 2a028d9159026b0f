"""pidstat (Linux). CPU, memory, I/O and switches of processes. Column CPU says where one ran last."""

from steelyard.recordings.cells import CLOCK
from steelyard.recordings.columns import Columns
from steelyard.recordings.headings import heading_of
from steelyard.recordings.lines import has
from steelyard.recordings.source import BANNER

sniff = has(
    BANNER.pattern,
    # old versions name no user
    rf"^(?:{CLOCK}|\d{{10}}|#\s+Time)\s+(?:(?:UID|USER)\s+)?(?:PID|TGID)\s",
)
# with -h all columns are in one table, with the time among them
read = Columns(
    "pidstat",
    lambda columns: heading_of(columns[columns[0] == "Time" :], ("PID", "TGID", "TID", "Command")),
    idle=".*",
)
