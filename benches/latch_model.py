"""Model against run: what two workers on one latch come to, predicted from measured hold times.

Eight mixes of hold and think time, an exclusive latch that is spun for as long as it takes, and one that
sleeps at once; nothing fitted. Printed by the same analysis as in every report of the latch lab.

    python benches/latch_model.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from steelyard.analysis.judge import judge
from steelyard.bundle.reader import Bundle

MIXES = [
    (200, 200),
    (200, 1000),
    (200, 5000),
    (500, 500),
    (500, 2000),
    (1000, 500),
    (1000, 3000),
    (2000, 8000),
]
STUDY = """\
name = "latch-model"
question = "How far are predictions from runs?"

[subject]
kind = "latch"

[workload]
kind = "cache"
gets_per_lookup = 1

[factors.latch]
scope = "server"
[factors.latch.levels]
SPIN = {{ protocol = "oracle-x", spin = 200000 }}
SLEEP = {{ protocol = "oracle-x", spin = 1 }}

[factors.mix]
scope = "client"
[factors.mix.levels]
{mixes}

[plan]
clients = [1, 2]
warm_up_s = 0.1
measure_s = {seconds}
cool_down_s = 0
blocks = {blocks}
seed = 42
pin = false
"""


def measure(blocks: int, seconds: float) -> list[dict[str, Any]]:
    """A row a latch and mix, two workers: gets/s and misses a get, measured and predicted."""
    mixes = "\n".join(f"H{h}T{t} = {{ hold_ns = {h}, think_ns = {t} }}" for h, t in MIXES)
    with tempfile.TemporaryDirectory() as place:
        study, bundle = Path(place) / "latch-model.toml", Path(place) / "b.bundle"
        study.write_text(STUDY.format(mixes=mixes, seconds=seconds, blocks=blocks))
        run = [sys.executable, "-m", "steelyard.cli", "run", str(study), "--bundle", str(bundle)]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        found = judge(Bundle(bundle).evidence())
    rows: list[dict[str, Any]] = []
    for row in found.latches:
        if row.clients == 2 and row.gets_per_s and row.predicted_gets_per_s:
            rows.append(
                {
                    "option": row.option,
                    "hold_ns": row.hold_ns,
                    "gets_per_s": row.gets_per_s,
                    "predicted_gets_per_s": row.predicted_gets_per_s,
                    "off_percent": 100 * (row.predicted_gets_per_s / row.gets_per_s - 1),
                    "misses_percent": 100 * (row.misses_per_get or 0),
                    "predicted_misses_percent": 100 * (row.predicted_misses_per_get or 0),
                }
            )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    print(
        f"{'two workers':20}{'hold ns':>9}{'gets/s':>12}{'predicted':>12}{'off %':>8}"
        f"{'misses %':>10}{'predicted':>11}"
    )
    for row in rows:
        print(
            f"{row['option']:20}{row['hold_ns']:9.0f}{row['gets_per_s']:12,.0f}{row['predicted_gets_per_s']:12,.0f}"
            f"{row['off_percent']:8.1f}{row['misses_percent']:10.1f}{row['predicted_misses_percent']:11.1f}"
        )
    for latch in ("SPIN", "SLEEP"):
        off = [row["off_percent"] for row in rows if row["option"].startswith(latch)]
        print(f"{latch}: {min(off):.1f} to {max(off):.1f} % off, median {statistics.median(off):.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--quick", action="store_true", help="2 blocks of 0.3 s a point in place of 6 of 0.5 s"
    )
    parser.add_argument("--json", action="store_true", help="the rows as JSON on standard output")
    arguments = parser.parse_args()
    rows = measure(2, 0.3) if arguments.quick else measure(6, 0.5)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        show(rows)


if __name__ == "__main__":
    main()
