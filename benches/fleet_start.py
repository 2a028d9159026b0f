"""How far apart the engines of three load hosts begin: network namespaces of one machine (root needed).

Beside it the part that is the clocks': how far apart the starts would be if each engine began in time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

# of the tests, which are no package
hosts: Any = import_module("fleet_hosts")


def measured(runs: int) -> dict[str, object]:
    """Spread of the first transactions of each run, ms."""
    # closed loop: each client begins at once; an arrival of an open loop comes when it comes
    study = hosts.STUDY.replace('[workload.arrival]\nkind = "open"\nrate_per_s = 240\n', "")
    before = os.getloadavg()[0]
    spreads: list[float]
    clocks: list[float]
    with tempfile.TemporaryDirectory() as folder, hosts.fleet(Path(folder)) as made:
        bundle = made.run("start", measure_s=0.3, blocks=runs, study=study)
        spreads, clocks = (
            sorted(bundle.columns(f"select ({sql}) / 1e6 as ms from {table} group by run")["ms"].tolist())
            for sql, table in (
                ("max(began_ns) - min(began_ns)", "host_load"),
                # one machine has one clock: every offset found is an error
                ("max(offset_ns) - min(offset_ns)", "hosts"),
            )
        )
    return {
        "runs": runs,
        "spread_ms_median": spreads[len(spreads) // 2],
        "spread_ms_90": spreads[int(len(spreads) * 0.9)],
        "spread_ms_max": spreads[-1],
        "of_clocks_ms_max": clocks[-1],
        "load_average_before_and_after": [before, os.getloadavg()[0]],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="2 runs")
    given = parser.parse_args()
    print(json.dumps(measured(2 if given.quick else given.runs), indent=2))
