"""A study with parts of its plan replaced from the command line, as a new text.

The bundle contains the text that was run, with the changes of the command line, so the bundle
alone is enough to resume and repeat the study.
"""

import math
import re
import tomllib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from steelyard.errors import InputError
from steelyard.study.key_types import Toml
from steelyard.study.load_study import catalogue, find_study, fleet_of, parse_study
from steelyard.study.setting_names import names_of
from steelyard.study.study import Plan, Study

_OPTIONS = {"blocks": "--blocks", "clients": "--clients", "measure_s": "--measure", "stop": "--until"}
_UNTIL_PERCENT_MIN, _UNTIL_PERCENT_MAX = 0.01, 100.0

_BLOCKS = 3
_MEASURE_S = 2.0
_TRANSACTIONS_SHARE = 5


@dataclass(frozen=True)
class Adjusted:
    """A study as it will run. origin: its name in messages; notes: sentences that its plan ends with."""

    text: str
    origin: str
    notes: Sequence[str]


def adjusted(
    name: str,
    blocks: int | None = None,
    clients: str | None = None,
    measure_s: float | None = None,
    until: str | None = None,
    subject: str | None = None,
    probes: Mapping[str, Any] | None = None,
    quick: bool = False,
    made: str = "",
    fleet: Path | None = None,
    settings: Sequence[Path] = (),
) -> Adjusted:
    """The study with these changes. Raises InputError.

    made: a text that stands for a study file; `name` is then its name in messages.
    until: half-width of the intervals that ends the study (plan.stop), as `1%`.
    subject: selects the built-in study `NAME-SUBJECT`, which has the same question for another server:
    settings and levels differ between servers, so a study has a variant for each.
    probes: keys of the study's [probes] to replace. quick: fewer blocks and less time per load point, but
    for those that are given. fleet: a file of hosts, which becomes the study's [fleet]. settings: files that
    are the options in place of those of the study; one file: beside the server as it is.
    """
    if made:
        study, text = parse_study(made, name), made
    else:
        name = _variant(name, subject)
        study, text = find_study(name)
    changes: Toml = {}
    if blocks is not None:
        changes["blocks"] = blocks
    if measure_s is not None:
        changes["measure_s"] = measure_s
    if clients is not None:
        try:
            changes["clients"] = [int(part) for part in clients.split(",")]
        except ValueError:
            raise InputError(
                f"--clients {clients}: expected whole numbers separated by commas: 1,8,64"
            ) from None
    if until is not None:
        stop = study.plan.stop
        own = {} if stop is None else stop.model_dump(exclude_unset=True)
        changes["stop"] = {**own, "half_width_percent": _half_width_percent(until)}
    _check(changes)
    notes: list[str] = []
    if quick:
        shorter = quick_changes(study.plan, changes)
        notes.append(f"quick: {quick_text(study.plan.model_copy(update=changes), shorter)}")
        changes |= shorter
    if not (changes or probes or fleet or settings):
        return Adjusted(text, name, notes)
    raw = tomllib.loads(text)
    raw["plan"] = {**raw.get("plan", {}), **changes}
    if fleet is not None:
        raw["fleet"] = fleet_of(fleet).model_dump(exclude_defaults=True)
    raw["probes"] = {**raw.get("probes", {}), **(probes or {})}
    if settings:
        notes += _compare_files(raw, study, settings)
    return Adjusted(tomli_w.dumps(raw), name, notes)


def _compare_files(raw: Toml, study: Study, files: Sequence[Path]) -> Iterator[str]:
    """Makes settings files the options of a study, as TOML; a sentence on what they replace."""
    if not names_of(study.subject.kind).file:
        raise InputError(f"no settings files are read for the subject {study.subject.kind}")
    codes = [re.sub(r"[^A-Za-z0-9.+-]", "-", path.stem)[:24] for path in files]
    if len({"as-is", *codes}) <= len(codes):
        codes = [str(number) for number, _ in enumerate(files, start=1)]
    levels: Toml = {} if files[1:] else {"as-is": {}}
    raw["question"] = f"Which settings are best: {', '.join((*levels, *map(str, files)))}?"
    levels |= {code: {"file": str(path.absolute())} for code, path in zip(codes, files, strict=True)}
    raw["factors"] = {"settings": {"scope": "server", "levels": levels}}
    raw["exclude"] = []
    raw["plan"].pop("baseline", None)
    if study.factors:
        for (*tables, key), _ in study.workload.idle():
            # a key that only a factor gave an effect
            reduce(lambda table, name: table.get(name, {}), tables, raw["workload"]).pop(key, None)
        yield f"settings files in place of the factors {', '.join(study.factors)}"


def _variant(name: str, subject: str | None) -> str:
    if subject is None:
        return name
    own = find_study(name)[0].subject.kind
    if own == subject:
        return name
    known = catalogue()
    if name not in known:
        raise InputError(
            f"--subject {subject}: chooses between built-in studies, and {name} is a file",
            f'to measure another server, replace kind = "{own}" under [subject] in a copy of the file; names'
            " of settings differ between servers",
        )
    if f"{name}-{subject}" in known:
        return f"{name}-{subject}"
    others = [other.removeprefix(f"{name}-") for other in known if other.startswith(f"{name}-")]
    kinds = [kind for kind in others if find_study(f"{name}-{kind}")[0].subject.kind == kind]
    raise InputError(
        f"--subject {subject}: the study {name} has no variant for subject {subject}",
        f"variants: {', '.join(kinds)}" if kinds else "steelyard studies",
    )


def _half_width_percent(until: str) -> float:
    """`1%`, `0.5 %` or `2` in percent. Raises InputError."""
    match = re.fullmatch(r"\s*(\d{1,4}(?:\.\d{1,6})?)\s*%?\s*", until)
    percent = float(match[1]) if match else 0.0
    if not _UNTIL_PERCENT_MIN <= percent < _UNTIL_PERCENT_MAX:
        raise InputError(
            f"--until {until}: expected the half-width of an interval, from {_UNTIL_PERCENT_MIN:g}% to below"
            f" {_UNTIL_PERCENT_MAX:g}%",
            "steelyard run STUDY --until 1%",
        )
    return percent


def _check(changes: Toml) -> None:
    """Errors name the options of the command line, because the user never sees the changed text."""
    try:
        Plan.model_validate(changes)
    except ValidationError as error:
        raise InputError(
            "\n".join(
                f"{_OPTIONS[str(item['loc'][0])]}: {item['msg']} (given: {item['input']})"
                for item in error.errors()
            ),
            "steelyard run --help",
        ) from None


def quick_changes(plan: Plan, kept: Container[str] = ()) -> Toml:
    """The keys of [plan] that a quick run replaces, with their values; kept: keys that it leaves alone.

    The warm-up stays: a colder start would measure something else.
    """
    shorter: Toml = {"blocks": min(plan.blocks, _BLOCKS)}
    if plan.transactions is None:
        shorter["measure_s"] = min(plan.measure_s, _MEASURE_S)
    else:
        shorter["transactions"] = max(1, plan.transactions // _TRANSACTIONS_SHARE)
    return {key: value for key, value in shorter.items() if key not in kept and value != getattr(plan, key)}


def quick_text(plan: Plan, changes: Toml) -> str:
    """What a quick run loses: `3 blocks in place of 6, 2 s in place of 10 s: intervals about ... wider`."""
    if not changes:
        return f"nothing to shorten: {plan.blocks} blocks, {plan.measure_s:g} s per load point"
    units = {"blocks": " blocks", "measure_s": " s", "transactions": " transactions"}
    before = {"measure_s": f"{plan.measure_s:g} s"}
    lost = ", ".join(
        f"{value:g}{units[key]} in place of {before.get(key, getattr(plan, key))}"
        for key, value in changes.items()
    )
    few, many = sorted(_widths(plan, changes))
    times = f"{few:.2g}" if many / few < 1.1 else f"{few:.2g} to {many:.2g}"
    return f"{lost}: intervals about {times} times wider"


def _widths(plan: Plan, changes: Toml) -> tuple[float, float]:
    """Growth of an interval where runs scatter between themselves, and where all scatter is within them.

    The half-width of n blocks is t(n - 1) / sqrt(n) times the scatter of a run, which grows with
    1 / sqrt(time) in so far as it comes from within the run.
    """
    between = _half_width(changes.get("blocks", plan.blocks)) / _half_width(plan.blocks)
    time = math.prod(
        getattr(plan, key) / changes[key] for key in ("measure_s", "transactions") if key in changes
    )
    return between, between * math.sqrt(time)


def _half_width(blocks: int) -> float:
    """In scatters of a run; without a second block there is no interval: as for two."""
    # scipy takes 0.7 s
    from scipy import special

    n = max(2, blocks)
    t: Any = special
    return float(t.stdtrit(n - 1, 0.975)) / math.sqrt(n)
