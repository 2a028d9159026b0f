"""What the import of a large log of pgbench takes: seconds and the largest memory of the process.

    python benches/import_log.py [--gb 1]

Goal: 1 GB in at most 60 s and 500 MB.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_CLIENTS = 16
_PART = 2_000_000  # lines that are made; the file repeats them


def write_log(place: Path, size_bytes: int) -> None:
    """A log of transactions that last 0.2 to 9 ms."""
    at_us, lines = 1_772_445_600_000_000, list[str]()
    for number in range(_PART):
        at_us += random.randint(1, 400)
        lines.append(
            f"{number % _CLIENTS} {number} {random.randint(200, 9000)} 0"
            f" {at_us // 1_000_000} {at_us % 1_000_000}"
        )
    part = ("\n".join(lines) + "\n").encode()
    with place.open("wb") as file:
        for _ in range(-(-size_bytes // len(part))):
            file.write(part)


def main() -> None:
    """Prints one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=1.0)
    size_bytes = round(parser.parse_args().gb * 1e9)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "pgbench_log.1"
        write_log(log, size_bytes)
        began = time.monotonic()
        command = [sys.executable, "-c", _IMPORT, str(log), f"{folder}/out.bundle"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.monotonic() - began
        print(
            f"{log.stat().st_size / 1e9:.2f} GB: {seconds:.1f} s, {int(done.stdout) / 1024:.0f} MiB at most"
        )


# of the process itself, which the maximum over all children of this one would hide
_IMPORT = """
import resource, sys
from steelyard.cli.commands import cli
cli(["import", sys.argv[1], "-o", sys.argv[2]], standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

if __name__ == "__main__":
    main()
