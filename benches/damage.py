"""Damages a bundle at random, a fresh copy for each seed, and reads it as `steelyard report` does.

Each must end in an error that says what is wrong, in the same answer as before the damage, or in an answer
with a notice about what is left out, made of runs that were not damaged. Anything else is a failure.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import duckdb
from rich.console import Console

from declared import METRICS
from report_scale import histogram
from steelyard.analysis.comparison.block_table import estimated_runs
from steelyard.analysis.judge import judge
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import read_series
from steelyard.bundle.storage.checksum import seal
from steelyard.bundle.storage.inventory import CODES
from steelyard.bundle.writer import BundleWriter
from steelyard.errors import InputError
from steelyard.report.about.provenance import about_bundle
from steelyard.report.presented import Presented
from steelyard.report.terminal.verdict import print_verdict
from steelyard.study.load_study import parse_study
from steelyard.study.plan import baseline, blocks, options
from steelyard.study.study import Slot

SECOND = 10**9
NOTICES = {*CODES, "study-unfinished"}

STUDY = """
name = "damage"
question = "Which way?"
[subject]
kind = "null"
[workload]
rows = 1000
[factors.handle]
scope = "client"
levels = { A = "none", B = "named" }
[plan]
clients = [1, 4]
measure_s = 3
blocks = 4
[probes]
profile_hz = 99
"""
ENVIRONMENT: dict[str, Any] = {
    **METRICS,
    "steelyard": {"version": "0.1.0"},
    "cpu": {
        "model": "synthetic",
        "cores": 2,
        "cpus_usable": 4,
        "cpus_online": 4,
        "topology": [{"cpu": n, "core": str(n // 2), "package": "0"} for n in range(4)],
    },
    "memory": {"total_bytes": 2**33, "swap_total_bytes": 0},
    "storage": {"free_bytes": 2**34},
    "virtualization": {"cgroup_memory_limit_bytes": 2**32},
    "kernel": {"release": "6.1"},
    "placement": {"server_cpus": [0, 1], "engine_cpus": [2, 3], "apart": True},
    "server": {"version": "1", "settings": {}},
    "servers": {"A": {"version": "1", "set": {"memory": "1MB"}}, "B": {"version": "1", "set": {}}},
    "boots": [
        {
            "kernel": {
                "release": "6.1",
                "cmdline": "quiet",
                "clock_source": "tsc",
                "preemption": "voluntary",
            },
            "settings": {"kernel": "6.1"},
        }
    ],
    "calibration": {
        "spin_turn_ns": 4.0,
        "hand_over_ns": 50.0,
        "wakes": [{"asleep_ns": 100.0, "wake_ns": 5000.0, "post_ns": 300.0}],
    },
}


def make_bundle(path: Path) -> None:
    """Four blocks of two options at two points, with latches and probes."""
    study = parse_study(STUDY, "study.toml")
    found = options(study)
    writer = BundleWriter.create(path, STUDY, found, baseline(study, found), ENVIRONMENT)
    chance = random.Random(1)
    slots = [slot for block in blocks(study, found) for slot in block]
    for number, slot in enumerate(slots, start=1):
        writer.write_run(number, slot.option.levels, tables_of(slot, chance))
    writer.write_log(1, "the server's last words")


def tables_of(slot: Slot, chance: random.Random) -> dict[str, Any]:
    """A run: a thousand transactions a second of each client, B a fifth more than A."""
    tps = [round(n * 1000 * (1.2 if slot.option.label == "B" else 1) * chance.gauss(1, 0.01)) for n in (1, 4)]
    starts = [SECOND, 5 * SECOND]
    readings = [(t, metric) for t in range(10) for metric in ("cpu_ns_total", "memory_private_bytes")]
    shape = histogram(3 * tps[0], 10**6)
    return {
        "runs": {
            "option": [slot.option.label],
            "block": [slot.block],
            "slot": [slot.slot],
            "attempt": [1],
            "status": ["done"],
            "cause": [""],
            "started_at": [f"2026-01-01T00:{slot.block:02d}:{slot.slot:02d}Z"],
            "seconds": [10.0],
        },
        "phases": {
            "point": [0, 1],
            "clients": [1, 4],
            "phase": ["measure"] * 2,
            "start_ns": starts,
            "end_ns": [start + 3 * SECOND for start in starts],
        },
        "throughput": {
            "point": [0, 0, 0, 1, 1, 1],
            "second": [0, 1, 2] * 2,
            "statement": ["transaction"] * 6,
            "count": [tps[0]] * 3 + [tps[1]] * 3,
            "errors": [0] * 6,
        },
        "latency": {
            "point": [0, 1],
            "statement": ["transaction"] * 2,
            "count": [3 * each for each in tps],
            "histogram": [
                histogram(3 * each, 10**9 * n // each) for n, each in zip((1, 4), tps, strict=True)
            ],
        },
        "clients": {
            "point": [0, 1, 1, 1, 1],
            "client": [0, 0, 1, 2, 3],
            "transactions": [3 * tps[0]] + [3 * tps[1] // 4] * 4,
            "errors": [0] * 5,
            "mean_ns": [1e6] * 5,
            "p99_ns": [2e6] * 5,
        },
        "samples": {
            "t_ns": [t * SECOND for t, _ in readings],
            "monitor": ["processes"] * len(readings),
            "entity": ["server"] * len(readings),
            "metric": [metric for _, metric in readings],
            "value": [chance.gauss(5e8, 1e6) * t for t, _ in readings],
        },
        "latches": {
            "point": [0, 1],
            "latch": ["RC"] * 2,
            "gets": [3 * each for each in tps],
            "misses": [10, 50],
            "sleeps": [1, 5],
            # without holds of the fewest clients nothing is simulated, which would take most of the time
            "hold_histogram": [None, shape],
        },
        "scheduling": {
            "point": [0],
            "role": ["server"],
            "seconds": [2.0],
            "voluntary": [100],
            "involuntary": [10],
            "migrations": [1],
            **{f"{kind}_histogram": [shape] for kind in ("run_queue", "slice", "off_cpu")},
        },
        "profile": {"point": [0], "role": ["server"], "stack": ["server;main;work"], "samples": [100]},
        "notices": {"code": [], "text": []},
    }


@dataclass(frozen=True)
class Answer:
    """text: the verdict as the terminal shows it, and the judgement. points: its measurements."""

    text: str
    points: frozenset[tuple[Any, ...]]
    noticed: bool


def answer(path: Path) -> Answer:
    """What `steelyard report` makes of a bundle. Raises InputError."""
    bundle = Bundle(path)
    evidence = bundle.evidence()
    judgement = judge(evidence)
    series = read_series(bundle, estimated_runs(evidence))
    out = io.StringIO()
    print_verdict(Presented(judgement, series, about_bundle(bundle)), Console(file=out, width=200))
    return Answer(
        out.getvalue() + repr(judgement),
        frozenset(zip(*(column.tolist() for column in evidence.view("points").values()), strict=True)),
        any(notice.code in NOTICES for notice in judgement.notices),
    )


Damage = Callable[[Path, random.Random], str]


def _file(bundle: Path, chance: random.Random) -> Path:
    return chance.choice(sorted(place for place in bundle.rglob("*") if place.is_file()))


def _folders(bundle: Path, chance: random.Random, count: int) -> list[Path]:
    return chance.sample(sorted((bundle / "runs").iterdir()), count)


def flip(bundle: Path, chance: random.Random) -> str:
    place = _file(bundle, chance)
    content = bytearray(place.read_bytes())
    for _ in range(chance.choice((1, 1, 8, 100))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    place.write_bytes(content)
    return f"bits flipped in {place}"


def truncate(bundle: Path, chance: random.Random) -> str:
    place = _file(bundle, chance)
    os.truncate(place, chance.choice((0, chance.randrange(place.stat().st_size))))
    return f"{place} truncated"


def extend(bundle: Path, chance: random.Random) -> str:
    place = _file(bundle, chance)
    with place.open("ab") as file:
        file.write(chance.randbytes(chance.randrange(1, 5000)))
    return f"{place} extended"


def overwrite(bundle: Path, chance: random.Random) -> str:
    place = _file(bundle, chance)
    content = bytearray(place.read_bytes())
    begin = chance.randrange(len(content))
    end = chance.randrange(begin, len(content)) + 1
    content[begin:end] = chance.choice((bytes(end - begin), chance.randbytes(end - begin)))
    place.write_bytes(content)
    return f"bytes {begin} to {end} of {place} overwritten"


def delete(bundle: Path, chance: random.Random) -> str:
    place = _file(bundle, chance)
    place.unlink()
    return f"{place} deleted"


def by_another_kind(bundle: Path, chance: random.Random) -> str:
    place = _file(bundle, chance)
    place.unlink()
    kind = chance.choice(("folder", "link to nothing", "link to itself", "pipe"))
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(place if kind == "link to itself" else "nowhere")
    return f"{place} is a {kind}"


def swap(bundle: Path, chance: random.Random) -> str:
    one = _file(bundle, chance)
    alike = sorted(bundle.rglob(one.name)) if chance.random() < 0.8 else sorted(bundle.rglob("*.*"))
    other = chance.choice(alike)
    if one != other:
        aside = bundle / "aside"
        one.rename(aside)
        other.rename(one)
        aside.rename(other)
    return f"{one} and {other} swapped"


def copy_over(bundle: Path, chance: random.Random) -> str:
    one, other = _file(bundle, chance), _file(bundle, chance)
    place = chance.choice((other, one.with_name("copy"), other.with_name(one.name)))
    if place != one:
        shutil.copyfile(one, place)
    return f"{one} copied to {place}"


def rename(bundle: Path, chance: random.Random) -> str:
    place = _file(bundle, chance)
    place.rename(place.with_name(chance.choice((place.name + "~", "x.parquet", "." + place.name))))
    return f"{place} renamed"


def run_folder(bundle: Path, chance: random.Random) -> str:
    one, other, third = _folders(bundle, chance, 3)
    what = chance.choice(("deleted", "many deleted", "copied", "renamed", "swapped", "emptied", "moved away"))
    names = (
        f"{chance.randrange(1, 40):04d}",
        f"{one.name} copy",
        "9" * 12,
        one.name.lstrip("0"),
        "x",
        "0000",
    )
    name = chance.choice(names)
    if what == "deleted":
        shutil.rmtree(one)
    elif what == "many deleted":
        for folder in (one, other, third):
            shutil.rmtree(folder)
    elif what == "copied" and not (one.parent / name).exists():
        shutil.copytree(one, one.parent / name)
    elif what == "renamed" and not (one.parent / name).exists():
        one.rename(one.parent / name)
    elif what == "swapped":
        one.rename(bundle / "aside")
        other.rename(one)
        (bundle / "aside").rename(other)
    elif what == "emptied":
        shutil.rmtree(one)
        one.mkdir()
    elif what == "moved away":
        (bundle / "runs").rename(bundle / "elsewhere")
    return f"{one} {what} ({other}, {name})"


def foreign(bundle: Path, chance: random.Random) -> str:
    """A run of another bundle of the same study."""
    other = bundle.parent / "other"
    if not other.exists():
        make_bundle(other)
    (one,), (mine,) = _folders(other, chance, 1), _folders(bundle, chance, 1)
    place = chance.choice((mine, mine.with_name("0009")))
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(one, place)
    return f"{one} copied to {place}"


VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    10**30,
    1e308,
    "",
    "x",
    "\ud800",
    [],
    [None],
    [[1]],
    {},
    {"x": {}},
    ["A"] * 3,
)


def _changed(value: Any, chance: random.Random) -> Any:
    """The value with one part of it changed, taken away or added."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        value = cast(dict[str, Any], value)
        name = chance.choice(sorted(value))
        what = chance.random()
        if what < 0.1:
            return {key: kept for key, kept in value.items() if key != name}
        return {**value, (name if what < 0.9 else name + "x"): _changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        value = cast(list[Any], value)
        place = chance.randrange(len(value))
        return [_changed(kept, chance) if n == place else kept for n, kept in enumerate(value)]
    return chance.choice(VALUES)


def change_json(bundle: Path, chance: random.Random, sealed: bool = False) -> str:
    place = chance.choice(
        [*sorted(bundle.rglob("*.json")), *(bundle / f"{name}.json" for name in ("bundle", "environment"))]
    )
    content = json.loads(place.read_text())
    changed: Any = _changed({key: value for key, value in content.items() if key != "checksum"}, chance)
    if isinstance(changed, dict):
        changed = cast(dict[str, Any], changed)
        changed = seal(changed) if sealed else {**changed, "checksum": content["checksum"]}
    place.write_text(json.dumps(changed))
    return f"{place} {'forged' if sealed else 'changed'}: {changed}"


def forge_json(bundle: Path, chance: random.Random) -> str:
    return change_json(bundle, chance, sealed=True)


CELLS = (
    "null",
    "-1",
    "0",
    "9223372036854775807",
    "'x'",
    "'A'",
    "1e308::double",
    "'\\xFF\\x00'::blob",
    "true",
)


def forge_table(bundle: Path, chance: random.Random) -> str:
    """A table with a column changed, and the checksum of that."""
    (folder,) = _folders(bundle, chance, 1)
    place = chance.choice(sorted(folder.glob("*.parquet")))
    with duckdb.connect() as connection:
        columns = [row[0] for row in connection.execute(f"describe from '{place}'").fetchall()]
        column, cell = chance.choice(columns), chance.choice(CELLS)
        what = chance.choice((f'* replace ({cell} as "{column}")', f'* exclude ("{column}")', "* limit 0"))
        words, limit, most = what.partition(" limit")
        connection.execute(f"create table it as from '{place}'")
        connection.execute(f"copy (select {words} from it{limit}{most}) to '{place}' (format parquet)")
    identity = json.loads((folder / "run.json").read_text())
    identity["tables"][place.stem] = hashlib.sha256(place.read_bytes()).hexdigest()
    (folder / "run.json").write_text(json.dumps(seal(identity)))
    return f"{place} forged: {what}"


# what cannot be known to be other than it was may give another answer, but no traceback
FORGERIES: tuple[Damage, ...] = (forge_json, forge_table)
DAMAGES: tuple[Damage, ...] = (
    *(
        flip,
        truncate,
        extend,
        overwrite,
        delete,
        by_another_kind,
        swap,
        copy_over,
        rename,
        run_folder,
        foreign,
    ),
    *(change_json, *FORGERIES),
)


@dataclass(frozen=True)
class Outcome:
    """kind: error, same, notice, forged, or failure. what: the damage; why: of a failure."""

    kind: str
    damage: str
    what: str
    why: str = ""


class Trial:
    """Keeps the sound bundle and its answer in a folder."""

    def __init__(self, folder: Path) -> None:
        self._sound, self._bundle = folder / "sound", folder / "bundle"
        make_bundle(self._sound)
        shutil.copytree(self._sound, self._bundle)
        self._answer = answer(self._bundle)

    def damaged(self, seed: int) -> Outcome:
        """The outcome of the damage that this seed makes."""
        chance = random.Random(seed)
        damage = chance.choice(DAMAGES)
        shutil.rmtree(self._bundle)
        shutil.copytree(self._sound, self._bundle)
        what = damage(self._bundle, chance)
        kind, why = self._kind(damage)
        return Outcome(kind, damage.__name__, what, why)

    def _kind(self, damage: Damage) -> tuple[str, str]:
        try:
            found = answer(self._bundle)
        except InputError as error:
            named = str(self._bundle) in str(error) or "runs/" in str(error)
            return ("error", "") if named else ("failure", f"names no file: {error}")
        except Exception:
            return "failure", traceback.format_exc()
        if found == self._answer:
            return "same", ""
        if damage in FORGERIES:
            return "forged", ""
        if not found.noticed:
            return "failure", "another answer without a notice"
        if not found.points <= self._answer.points:
            return "failure", "an answer from what was not measured"
        return "notice", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="seed of the first damage")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="200 damages")
    parser.add_argument("--json", action="store_true", help="figures as JSON on standard output")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + (200 if asked.quick else asked.count))
    counts: Counter[tuple[str, str]] = Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
        trial = Trial(Path(folder))
        for seed in seeds:
            outcome = trial.damaged(seed)
            counts[outcome.damage, outcome.kind] += 1
            if outcome.kind == "failure" or asked.count == 1:
                print(f"seed {seed}: {outcome.kind}: {outcome.what}\n{outcome.why}", file=sys.stderr)
    kinds = ("error", "same", "notice", "forged", "failure")
    totals = {kind: sum(n for (_, found), n in counts.items() if found == kind) for kind in kinds}
    if asked.json:
        print(json.dumps(totals))
    else:
        print(f"seeds {seeds.start} to {seeds.stop - 1}")
        print(f"{'damage':<16}" + "".join(f"{kind:>9}" for kind in kinds))
        for name in [damage.__name__ for damage in DAMAGES]:
            print(f"{name:<16}" + "".join(f"{counts[name, kind]:>9,}" for kind in kinds))
        print(f"{'all':<16}" + "".join(f"{totals[kind]:>9,}" for kind in kinds))
    sys.exit(totals["failure"] > 0)


if __name__ == "__main__":
    main()
