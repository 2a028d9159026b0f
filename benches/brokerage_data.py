"""Rows per second of one core that the data generator of the brokerage writes, by table; goal: 100,000.

python benches/brokerage_data.py [--days 2] [--quick]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from steelyard.study.workloads.derived import BrokerageWorkload
from steelyard.workloads.brokerage.workload import brokerage

_GOAL_PER_S = 100_000
_ROWS_MIN = 1_000  # of smaller tables the rate says nothing


def main() -> None:
    """Prints a line per table, and one for all; fails below the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--days", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="one day")
    given = parser.parse_args()
    workload = BrokerageWorkload(kind="brokerage", days=1 if given.quick else given.days)
    all_rows, all_s, slowest = 0, 0.0, float("inf")
    with tempfile.TemporaryDirectory() as folder:
        for table in brokerage(workload).files:
            begin_s = time.process_time()
            path = table.write(Path(folder))
            took_s = time.process_time() - begin_s
            with path.open("rb") as file:
                rows = sum(1 for _ in file) - 1
            size_mb = path.stat().st_size / 1e6
            print(f"{table.name:18} {rows:9,} rows {size_mb:7.1f} MB {rows / took_s:11,.0f} rows/s")
            if rows >= _ROWS_MIN:
                slowest = min(slowest, rows / took_s)
            all_rows, all_s = all_rows + rows, all_s + took_s
            path.unlink()
    print(f"{'all':18} {all_rows:9,} rows {'':10} {all_rows / all_s:11,.0f} rows/s of CPU")
    assert all_rows / all_s >= _GOAL_PER_S, "below the goal"
    print(f"goal: {_GOAL_PER_S:,} rows/s per core; the slowest table of {_ROWS_MIN:,} rows: {slowest:,.0f}")


if __name__ == "__main__":
    main()
