"""Feeds mutated study files to the reader: anything but a study or an InputError is a failure.

Input number N is made from the seed N alone, so `--first N --count 1` repeats it. Nothing is started.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence

from steelyard.errors import InputError
from steelyard.study.load_study import catalogue, plan_study
from steelyard.study.plan import blocks, check_effects
from steelyard.subjects import check, kind_of
from steelyard.workloads import work_of

# whose check looks at nothing outside the study
CHECKED = ("null", "latch", "dispatcher", "program", "sqlite")
SLOWEST_S = 10.0
LONGEST_MESSAGE = 60_000

TOKENS = re.compile(r"""\w+|"[^"\n]*"|'[^'\n]*'|\s+|.""", re.DOTALL)
VALUES = (
    *("0", "-1", "1", "3", "true", "false", "inf", "-inf", "nan", "1e308", "1e-320", "-0.0", "0.5", "1e400"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616"),
    *("0x" + "f" * 40, "0b1", "1" * 400, "9" * 5000, "0x" + "f" * 5000, "10_000", "1e12"),
    *("[]", "{}", "[[]]", "[{}]", "{ a = 1 }", "{ a.b.c = 1 }", "[1, 'a', true]", "[1.5]", "[8, 8]"),
    *("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", '""', "''", '"x"', '"a b"', '"${X}"', '"{seconds}"'),
    *('"\\u0000"', '"\\u001b[2J"', '"\\u202e"', '"' + "x" * 5000 + '"', '"é漢字😀"', '"../../x"', '"%s%n{}"'),
    *('"a{99999999999999999999}"', '"' + "(" * 3000 + '"', '"(a+)+"', '"["', '"postgresql://u:p@h/d"'),
    *('"0-9999"', '"3-1"', '"' + "0-9999," * 2000 + '"', '"host=\'"', '"::"', '"mysql://["', "[" * 3000),
)
LINES = (
    *("[workload]", "[[workload]]", "[[plan]]", "[[factors]]", "[factors.x]", "[[factors.x]]", "[subject]"),
    *("[plan.stop]", "[host]", "[monitors]", "[reboots]", "[probes]", "[[exclude]]", "[exclude]", "[a.b.c]"),
    *("workload = 3", "workload = []", "factors = 1", "subject = 'null'", "plan = true", "overlay = [1]"),
    *("seed = 18446744073709551616", "clients = [10000]", "clients = [1, 1]", "blocks = 1000", "rows = 1"),
    *("monitors = { processes = 1e-320 }", "measure_s = 1e-320", "exclude = [{}]", "name = 'x'"),
    *("arrival = { kind = 'open', rate_per_s = inf }", "arrival = { think_ms = nan }", "stop = 1"),
    *("a" * 5000 + " = 1", "a." * 200 + "a = 1", "'' = 1", '"\\u0000" = 1', '"a.b" = 1', "levels = {}"),
    *("host.a.b.c.d = 1", "kernel = ''", "scope = 'client'", "setting = ''", "baseline = ''", "dsn = ''"),
    "levels = { " + ", ".join(f"L{number} = {number}" for number in range(200)) + " }",
    "clients = [" + ", ".join(map(str, range(1, 1200))) + "]",
)
TEXTS = (
    *("\ufeff", "\u2028", "\u202e", "\x00", "\x1b", "\x7f", "\r", "\r\n", "\x85"),
    *("é", "漢", "😀", "'''", '"""'),
)

Mutation = Callable[[random.Random, str], str]


def swap_tokens(chance: random.Random, text: str) -> str:
    """Two tokens in each other's place."""
    tokens = TOKENS.findall(text)
    if len(tokens) > 1:
        a, b = chance.sample(range(len(tokens)), 2)
        tokens[a], tokens[b] = tokens[b], tokens[a]
    return "".join(tokens)


def change_token(chance: random.Random, text: str) -> str:
    """One token is a value, or a token of another study."""
    tokens = TOKENS.findall(text)
    if tokens:
        others = TOKENS.findall(chance.choice(TEXTS_OF_STUDIES))
        tokens[chance.randrange(len(tokens))] = chance.choice([chance.choice(VALUES), chance.choice(others)])
    return "".join(tokens)


def change_value(chance: random.Random, text: str) -> str:
    """The value of a line is another, of any type."""
    lines = text.split("\n")
    given = [number for number, line in enumerate(lines) if "=" in line]
    if given:
        number = chance.choice(given)
        lines[number] = f"{lines[number].partition('=')[0]}= {chance.choice(VALUES)}"
    return "\n".join(lines)


def delete(chance: random.Random, text: str) -> str:
    """A line or a stretch of characters is gone."""
    if chance.random() < 0.5:
        lines = text.split("\n")
        del lines[chance.randrange(len(lines))]
        return "\n".join(lines)
    at = chance.randrange(len(text) + 1)
    return text[:at] + text[at + chance.randrange(1, 40) :]


def duplicate(chance: random.Random, text: str) -> str:
    """Lines are there twice, or stand elsewhere."""
    lines = text.split("\n")
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[to:to] = lines[at : at + chance.randrange(1, 6)]
    return "\n".join(lines)


def add_line(chance: random.Random, text: str) -> str:
    """A line that may belong there or not, or one of another study."""
    lines = text.split("\n")
    other = chance.choice(chance.choice(TEXTS_OF_STUDIES).split("\n"))
    lines.insert(chance.randrange(len(lines) + 1), chance.choice([chance.choice(LINES), other]))
    return "\n".join(lines)


def add_text(chance: random.Random, text: str) -> str:
    """Characters that editors and terminals treat in their own way, or bytes at random."""
    at = chance.randrange(len(text) + 1)
    noise = chance.randbytes(chance.randrange(1, 12)).decode("latin-1")
    return text[:at] + chance.choice([chance.choice(TEXTS), noise]) + text[at:]


def nest(chance: random.Random, text: str) -> str:
    """Lists and tables within each other."""
    many = chance.choice([2, 5, 40, 400])
    inner = chance.choice(["[" * many + "]" * many, "{a=" * many + "1" + "}" * many, ".".join(["a"] * many)])
    lines = text.split("\n")
    lines.insert(chance.randrange(len(lines) + 1), f"x = {inner}" if inner[0] != "a" else f"{inner} = 1")
    return "\n".join(lines)


TEXTS_OF_STUDIES: Sequence[str] = [place.read_text(encoding="utf-8") for place in catalogue().values()]
# what breaks the text as TOML is rarer, or few inputs would be more than text
MUTATIONS: Sequence[Mutation] = (
    *(change_value, change_value, change_value, add_line, add_line, duplicate, delete, change_token),
    *(change_token, swap_tokens, add_text, nest),
)


def made(seed: int) -> str:
    """The input of a seed."""
    chance = random.Random(seed)
    text = chance.choice(TEXTS_OF_STUDIES)
    for _ in range(chance.choice([1, 1, 1, 1, 2, 2, 3, 5])):
        text = chance.choice(MUTATIONS)(chance, text)
    return text


def attempt(text: str) -> str:
    """What became of it: `study`, or `refused`. Any other exception is a failure."""
    try:
        study, found = plan_study(text, "fuzz.toml")
        workloads = [option.workload for option in found]
        for workload in workloads:
            work_of(workload)
            workload.summary()
        check_effects(study, found)
        if study.subject.kind in CHECKED:
            check(study, found)
        for _ in blocks(study, found, not kind_of(study).boots_itself):
            pass
    except InputError as error:
        if len(str(error)) > LONGEST_MESSAGE:
            raise AssertionError(f"a message of {len(str(error)):,} characters") from error
        return "refused"
    return "study"


def main() -> int:
    """Runs so many inputs; prints each failure with its seed. 1 when there was one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first input")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="1,000 inputs")
    parser.add_argument("--show", action="store_true", help="print each input")
    arguments = parser.parse_args()
    count = 1000 if arguments.quick else arguments.count
    became: Counter[str] = Counter()
    begun = time.monotonic()
    for seed in range(arguments.first, arguments.first + count):
        text = made(seed)
        if arguments.show:
            print(text)
        start = time.monotonic()
        try:
            became[attempt(text)] += 1
        except Exception:
            became["failed"] += 1
            print(f"seed {seed}:\n{traceback.format_exc(limit=-3)}", flush=True)
        if (took_s := time.monotonic() - start) > SLOWEST_S:
            became["slow"] += 1
            print(f"seed {seed}: {took_s:.1f} s", flush=True)
        done = seed - arguments.first + 1
        if done % 50_000 == 0 or done == count:
            print(f"{done:,} inputs in {time.monotonic() - begun:.0f} s: {dict(became)}", flush=True)
    return 1 if became["failed"] or became["slow"] else 0


if __name__ == "__main__":
    sys.exit(main())
