"""From a study to its runs: options with their labels, blocks in counterbalanced random order."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from pydantic import ValidationError

from steelyard.study.errors import InputError, nearest
from steelyard.study.spec import CLIENT_SETTINGS, Factor, Scope, Setting, Study, Workload

_WORDS = ("handle", "text", "parameters")
# columns of the table of runs, where factors become columns, and the reason of an exclusion
_RESERVED = frozenset(
    ("run", "option", "block", "slot", "attempt", "status", "cause", "started_at", "seconds", "why")
)


@dataclass(frozen=True)
class Option:
    """One combination of levels. levels: code by factor; changes: settings by scope."""

    label: str
    levels: Mapping[str, str]
    changes: Mapping[Scope, Mapping[str, Setting]]


@dataclass(frozen=True)
class Slot:
    """One planned run. block and slot count from 1."""

    block: int
    slot: int
    option: Option


def options(study: Study) -> list[Option]:
    """Every combination of levels that is not excluded, in the order of the study file.

    The label joins the codes: `HDL1_TXT0_STC2`. Raises InputError for factors, exclusions or a
    baseline that name what is not there, and when fewer than two options are left.
    """
    for name, factor in study.factors.items():
        if name in _RESERVED:
            raise InputError(f'a factor cannot be called "{name}"', "choose another name", ("factors", name))
        _check_levels(name, factor)
    for number, rule in enumerate(study.exclude):
        _check_exclusion(study, number, rule)
    names = list(study.factors)
    found: list[Option] = []
    for codes in itertools.product(*(study.factors[name].levels for name in names)):
        levels = dict(zip(names, codes, strict=True))
        if not any(_matches(rule, levels) for rule in study.exclude):
            found.append(Option("_".join(codes), levels, _changes(study, levels)))
    labels = [option.label for option in found]
    if len(set(labels)) < len(labels):
        raise InputError("two options have the same label: give every level its own code", at=("factors",))
    if len(found) < 2:
        raise InputError(
            f"{len(found)} options are left, a study needs two", "drop an exclusion", ("exclude",)
        )
    baseline = study.plan.baseline
    if baseline is not None and baseline not in labels:
        raise InputError(f'no option "{baseline}"{nearest(baseline, labels)}', at=("plan", "baseline"))
    for option in found:
        workload_of(study, option)
    return found


def baseline(study: Study, found: Sequence[Option]) -> str:
    """Label of the option that the others are compared with."""
    return study.plan.baseline or found[0].label


def blocks(study: Study, found: Sequence[Option]) -> Iterator[list[Slot]]:
    """plan.blocks blocks, each holding every option once.

    Blocks come in pairs: a random order, then its reverse, so that a steady drift weighs on all
    options alike (facts: under drift ABBA errs 2 % of the time, ABAB 28 %); the orders of
    different pairs are independent, drawn from plan.seed.
    """
    chance = random.Random(study.plan.seed)
    order: list[Option] = []
    for block in range(1, study.plan.blocks + 1):
        if block % 2:
            order = list(found)
            chance.shuffle(order)
        else:
            order = order[::-1]
        yield [Slot(block, place, option) for place, option in enumerate(order, start=1)]


def run_seconds(study: Study) -> float:
    """Length of one run without its set-up, in seconds."""
    plan = study.plan
    return len(plan.clients) * (plan.warm_up_s + plan.measure_s) + plan.cool_down_s


def workload_of(study: Study, option: Option) -> Workload:
    """The workload as the option's client factors change it. Raises InputError."""
    base = study.workload.model_dump(exclude_unset=True)
    arrival = dict(base.get("arrival", {}))
    for key, value in option.changes.get("client", {}).items():
        (arrival if key in ("think_ms", "rate_per_s") else base)[key] = value
    try:
        workload = Workload.model_validate({**base, "arrival": arrival})
    except ValidationError as error:
        cause = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    else:
        if not (cause := workload.contradiction):
            return workload
    raise InputError(
        f"option {option.label}: {cause}",
        "leave the combination out with [[exclude]]",
        ("factors",),
    )


def _check_levels(name: str, factor: Factor) -> None:
    """Client settings can be judged now; what a server takes is known only when it has started."""
    if factor.scope == "version":
        for code, level in factor.levels.items():
            for key in _settings_of(name, factor, level):
                if key != "bindir":
                    raise InputError(
                        f'a factor of scope version gives "bindir", not "{key}"',
                        'setting = "bindir"',
                        ("factors", name, "levels", code),
                    )
    if factor.scope != "client":
        return
    for code, level in factor.levels.items():
        at = ("factors", name, "levels", code)
        for key, value in _settings_of(name, factor, level).items():
            if key not in CLIENT_SETTINGS:
                raise InputError(f'no client setting "{key}"{nearest(key, CLIENT_SETTINGS)}', at=at)
            words = get_args(Workload.model_fields[key].annotation) if key in _WORDS else ()
            if words and value not in words:
                raise InputError(f'unknown {key} "{value}"{nearest(str(value), words)}', at=at)


def _check_exclusion(study: Study, number: int, rule: Mapping[str, str | list[str]]) -> None:
    at = ("exclude", number)
    if not set(rule) - {"why"}:
        raise InputError("an exclusion names codes by factor; this one names no factor", at=at)
    for name, codes in rule.items():
        if name == "why":
            continue
        if name not in study.factors:
            raise InputError(f'no factor "{name}"{nearest(name, study.factors)}', at=(*at, name))
        known = study.factors[name].levels
        for code in _as_list(codes):
            if code not in known:
                raise InputError(f'no level "{code}"{nearest(code, known)}', at=(*at, name))


def _matches(rule: Mapping[str, str | list[str]], levels: Mapping[str, str]) -> bool:
    return all(levels[name] in _as_list(codes) for name, codes in rule.items() if name != "why")


def _as_list(codes: str | list[str]) -> list[str]:
    return [codes] if isinstance(codes, str) else codes


def _settings_of(name: str, factor: Factor, level: Setting | dict[str, Setting]) -> dict[str, Setting]:
    return level if isinstance(level, dict) else {factor.setting or name: level}


def _changes(study: Study, levels: Mapping[str, str]) -> dict[Scope, dict[str, Setting]]:
    changes: dict[Scope, dict[str, Setting]] = {}
    for name, code in levels.items():
        factor = study.factors[name]
        changes.setdefault(factor.scope, {}).update(_settings_of(name, factor, factor.levels[code]))
    return changes
