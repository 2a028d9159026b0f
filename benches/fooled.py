"""Whether the lab can be fooled: ways in which an option seems to win since it does not do the same work.

    python benches/fooled.py ways [NAME ...]   each of fooled/*.toml: what is said, and whether that is right
    python benches/fooled.py truths [NAME ...] ten true differences in the same shapes are still found
    python benches/fooled.py same [--studies 29]   the same option seven times against itself, live
    python benches/fooled.py simulated [--studies 2000]   the same option twice, by simulated counts

A file begins with its truth, the rule that catches it, what was said before there was a check, and what is
expected: `unequal work`; `refused WORDS` (exit code 2); `same` (no option wins, nothing fails); `faster
OPTION RATIO` (its throughput is at least RATIO times that of the other option).
"""

# pyright: basic
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.validity.equal_work import equal_work
from steelyard.bundle.reader import Bundle

WAYS = Path(__file__).with_name("fooled")
UNEQUAL = "unequal work"

STUDY = """\
name = "shape"
question = "which?"
[subject]
kind = "{kind}"
{subject}
[workload]
{workload}
{factor}
[plan]
clients = [2]
warm_up_s = 0.2
measure_s = {measure_s}
cool_down_s = 0
blocks = {blocks}
seed = {seed}
"""
ROWS = "insert into item select n, n % 100, repeat('x', 40) from generate_series(1, 20000) n;"
ITEM = f"create table item (id int primary key, c int not null, pad text);\n{ROWS}"
KEY = "id = { kind = 'uniform', low = 1, high = 20000 }"
# work that changes no row: it makes a true difference
COST = "(select count(*) from generate_series(1, {cost})) >= 0"


@dataclass(frozen=True)
class Shape:
    """One statement. {cost} stands for work that changes no row: costs, of the two options."""

    sql: str
    parameters: str = ""
    schema: str = ITEM
    more: str = ""
    kind: str = "postgres"
    subject: str = ""
    costs: tuple[int, int] = (1, 400)


SHAPES = {
    "lookups": Shape(f"select pad from item where id = :id and {COST}", KEY, costs=(1, 200)),
    "misses in all options": Shape(
        f"select pad from item where id = :id and {COST}", "id = { kind = 'uniform', low = 1, high = 40000 }",
        costs=(1, 200),
    ),
    "LIMIT without order": Shape(
        f"select id from item where c = :c and {COST} limit 3",
        "c = { kind = 'uniform', low = 0, high = 99 }", costs=(1, 200),
    ),
    "random()": Shape(
        f"select pad from item where id = :id and random() < 0.5 and {COST}", KEY, costs=(1, 150)
    ),
    "Zipf": Shape(
        f"select pad from item where id = :id and {COST}",
        "id = { kind = 'zipf', low = 1, high = 40000, exponent = 1.1 }", costs=(1, 200),
    ),
    "a growing table": Shape(
        f"insert into item select :id, 1, 'x' where {COST}",
        "id = { kind = 'sequence', start = 1000000 }",
        more="handle = 'none'",
    ),
    "a shrinking table": Shape(f"delete from item where id = :id and {COST}", KEY),
    "sequence": Shape(
        f"update item set c = c + 1 where id = :id and {COST}", "id = { kind = 'sequence' }",
        f"{ITEM}\ninsert into item select n, 1, 'x' from generate_series(20001, 200000) n;",
    ),
    "retries": Shape(
        f"update item set c = c + 1 where id = :id and {COST}",
        "id = { kind = 'uniform', low = 1, high = 20 }", more="retries = 3",
        subject="session = { default_transaction_isolation = 'serializable' }",
    ),
    "aggregates": Shape(
        f"select count(*), sum(id) from item where c = :c and {COST}",
        "c = { kind = 'uniform', low = 0, high = 99 }", costs=(1, 2000),
    ),
}  # fmt: skip
EVICTING = """\
kind = "key-value"
keys = 20000
value_bytes = 1500
reads_percent = 100
zipf_exponent = 0"""


def workload(shape: Shape, sql: str) -> str:
    parameters = f"parameters = {{ {shape.parameters} }}" if shape.parameters else ""
    text = f'kind = \'sql\'\n{shape.more}\nschema_sql = """{shape.schema}"""\n'
    return f'{text}[workload.statements.look]\nsql = """{sql}"""\n{parameters}'


def ran(path: Path) -> tuple[int, dict[str, Any], Bundle | None, str]:
    """Exit code, judgement, bundle and messages of a study."""
    bundle = path.with_suffix(".bundle")
    command = [sys.executable, "-m", "steelyard.cli", "run", path, "--json", "--bundle", bundle]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    judgement = json.loads(done.stdout)["judgement"] if done.stdout else {}
    return done.returncode, judgement, Bundle(bundle) if judgement else None, done.stderr


def throughput(judgement: dict[str, Any], option: str) -> float:
    """Throughput of an option, divided by that of the other."""
    (one,) = (c for c in judgement["comparisons"] if c["metric"] == "throughput_per_s")
    return one["ratio"] if one["option"] == option else 1 / one["ratio"]


def is_right(expected: str, code: int, judgement: dict[str, Any], bundle: Bundle | None, said: str) -> bool:
    """Whether a study ended as expected. said: its messages."""
    if expected.startswith("refused "):
        return code == 2 and expected.removeprefix("refused ") in said
    if bundle is None:
        return False
    outcome = judgement["verdict"]["outcome"]
    if expected == UNEQUAL:
        return outcome == UNEQUAL and code == 1
    if expected == "same":
        (failed,) = bundle.columns("select sum(errors) as n from transactions")["n"].tolist()
        return outcome not in (UNEQUAL, "winner") and failed == 0
    _, option, least = expected.split()
    return outcome != UNEQUAL and throughput(judgement, option) >= float(least)


def ways(names: list[str]) -> int:
    """Prints each way, and what is said to it; the number of those that are wrong."""
    wrong = 0
    for path in sorted(WAYS.glob("*.toml")):
        if names and path.stem not in names:
            continue
        head = dict(re.findall(r"^# (\w+): (.*)$", path.read_text(), re.MULTILINE))
        with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
            copy = Path(folder) / path.name
            copy.write_text(path.read_text())
            code, judgement, bundle, said = ran(copy)
            right = is_right(head["expect"], code, judgement, bundle, said)
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        answer = judgement["verdict"]["headline"] if judgement else " ".join(errors[:1])
        wrong += not right
        print(f"{'right' if right else 'WRONG'}  {path.stem} ({head['rule']}): {answer}", flush=True)
    return wrong


def truths(names: list[str]) -> int:
    """Differences of 3 to 30 %; the number of those that are not found."""
    missed = 0
    for name, shape in SHAPES.items():
        if names and name not in names:
            continue
        cheap, dear = (shape.sql.replace("{cost}", str(cost)) for cost in shape.costs)
        levels = f'[factors.sql.levels]\nCHEAP = """{cheap}"""\nDEAR = """{dear}"""'
        factor = f'[factors.sql]\nscope = "client"\nsetting = "statements.look.sql"\n{levels}'
        with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
            path = Path(folder) / "shape.toml"
            path.write_text(
                STUDY.format(
                    kind=shape.kind, subject=shape.subject, workload=workload(shape, cheap), factor=factor,
                    measure_s=1.5, blocks=6, seed=1,
                )
            )  # fmt: skip
            _, judgement, _, said = ran(path)
        verdict = judgement.get("verdict", {"outcome": said.strip()[-300:], "winner": None})
        found = verdict["winner"] == "CHEAP"
        ratio = throughput(judgement, "CHEAP") if judgement else float("nan")
        missed += not found
        print(
            f"{'found' if found else 'MISSED'}  {name}: {ratio:.3f} times, {verdict['outcome']}", flush=True
        )
    return missed


def same(studies: int) -> int:
    """Eight options that are the same; the number of those that did not do the same work."""
    false = compared = 0
    factor = '[factors.tag]\nscope = "session"\nsetting = "application_name"\nlevels = {{ {} }}'
    levels = ", ".join(f'{code} = "{code}"' for code in "ABCDEFGH")
    valkey = ", ".join(f'{code} = "12mb"' for code in "AB")
    shapes: list[tuple[str, Shape | None]] = [*SHAPES.items(), ("evicting", None)]
    for number in range(studies):
        name, shape = shapes[number % len(shapes)]
        if shape is None:
            text = STUDY.format(
                kind="valkey", subject='settings = { maxmemory-policy = "allkeys-lru" }', workload=EVICTING,
                factor=f'[factors.n]\nscope = "server"\nsetting = "maxmemory"\nlevels = {{ {valkey} }}',
                measure_s=0.3, blocks=1, seed=number,
            )  # fmt: skip
        else:
            text = STUDY.format(
                kind=shape.kind, subject=shape.subject, factor=factor.format(levels), measure_s=0.3, blocks=1,
                workload=workload(shape, shape.sql.replace("{cost}", "1")), seed=number,
            )  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
            path = Path(folder) / "same.toml"
            path.write_text(text)
            _, judgement, _, said = ran(path)
        if not judgement:
            print(f"failed  {name}: {said.strip()[-300:]}", flush=True)
            continue
        compared += len(judgement["options"]) - 1
        false += len({one["option"] for one in judgement["work"]})
        if judgement["work"]:
            print(f"FALSE  {name}: {judgement['verdict']['headline']}", flush=True)
    print(f"{false} of {compared} comparisons of the same option are false", flush=True)
    return false


def simulated(studies: int, blocks: int = 6, clients: int = 4) -> int:
    """Counts of two equal options, whose rows differ by chance; the number of false outcomes."""
    chance = np.random.default_rng(7)
    ends = [*range(1, 9), *(n << s for s in range(1, 10) for n in (5, 6, 7, 8))]
    base = evidence_of(study_of({"tag": "AB"}), {"A": Truth(), "B": Truth()}, blocks=blocks)
    rehearsal = {
        "option": np.array(["A", "B"], dtype=object), "step": np.array(["work", "write"], dtype=object),
        "statement": np.array(["s", "s"], dtype=object), "answer": np.array(["", ""], dtype=object),
        "rows": np.array([1.0, 1.0]), "draws": np.array([40, 40]), "plan": np.array([None, None]),
    }  # fmt: skip
    false = 0
    for number in range(studies):
        rows = [
            {"run": run, "statement": "s", "execution": end, "clients": clients, "rows": done, "empty": none}
            for run in base.view("runs")["run"].tolist()
            for end, done, none in _counts(number, chance, ends, clients)
        ]
        marks = {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}
        found = equal_work(replace(base, marks=marks, rehearsal=rehearsal)).differences
        false += bool(found)
        for one in found:
            print(f"FALSE  {number % 6}: {one.how}, {one.rows:.3g} and {one.baseline_rows:.3g}, {one.seen}")
    print(f"{false} of {studies} simulated studies of the same option twice are false", flush=True)
    return false


def _counts(
    number: int, chance: np.random.Generator, ends: list[int], clients: int
) -> Iterator[tuple[int, int, int]]:
    """Executions of each client, rows and empty executions of all, of one run."""
    last = ends[-1] - int(chance.integers(0, ends[-1] // 2))
    n = clients * last
    draws = chance.random(n)
    # what a table holds depends on what was executed, or on time: equal options have about the same pace
    at = np.arange(n) / (clients * ends[-1]) * float(np.exp(chance.normal(0, 0.03)))
    share = {
        0: np.full(n, 0.5),  # random()
        1: np.full(n, 0.02),  # misses are rare
        2: 0.9 - 0.7 * at,  # a table that grows
        3: 0.1 + 0.8 * at,  # a table that shrinks
        4: np.full(n, chance.normal(0.6, 0.01)),  # keys that a server has evicted by chance
        5: np.repeat(chance.random(n // 50 + 1), 50)[:n],  # retries: misses come in clusters
    }[number % 6]
    empty = draws < share
    sizes = chance.poisson(2.0, n) + 1 if number % 2 else np.ones(n, dtype=int)
    for end in ends:
        if end > last:
            return
        until = clients * end
        yield end, int(sizes[:until][~empty[:until]].sum()), int(empty[:until].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["ways", "truths", "same", "simulated"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--studies", type=int)
    given = parser.parse_args()
    if given.what == "ways":
        wrong = ways(given.names)
    elif given.what == "truths":
        wrong = truths(given.names)
    elif given.what == "same":
        wrong = same(given.studies or 30)
    else:
        wrong = simulated(given.studies or 2000)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
