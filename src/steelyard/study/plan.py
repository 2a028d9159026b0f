"""From a study to its runs: options with their labels, blocks in counterbalanced random order."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from steelyard.errors import InputError, nearest
from steelyard.study.factors import (
    Codes,
    changed,
    changes_of,
    check_factors,
    matches,
    settings_given,
    settings_of,
    sql_of,
)
from steelyard.study.host_settings import KERNEL, boot_of, idle
from steelyard.study.key_types import KeyPath, Setting, Settings
from steelyard.study.study import Factor, Option, Options, Plan, Scope, Slot, Study
from steelyard.study.validation_errors import explain

# limits: more options or runs than these are a mistake in the study
_OPTIONS_MAX = 10_000
_RUNS_MAX = 100_000

_Boot = tuple[tuple[str, Setting], ...]


def options(study: Study) -> list[Option]:
    """Every combination of levels that is not excluded, resolved, in the order of the study file.

    The label joins the codes: `HDL1_TXT0_STC2`. Without factors there is one option. Raises InputError for
    factors, exclusions or a baseline with an unknown name, for settings that contradict one another,
    for too many options, and when none is left.
    """
    check_factors(study)
    number = math.prod(len(factor.levels) for factor in study.factors.values())
    if number > _OPTIONS_MAX:
        raise InputError(
            f"the levels of {len(study.factors)} factors make {number:,} options; at most {_OPTIONS_MAX:,}",
            "remove factors or levels, or split the study",
            ("factors",),
        )
    combinations = [
        dict(zip(study.factors, codes, strict=True))
        for codes in itertools.product(*(factor.levels for factor in study.factors.values()))
    ]
    kept = [levels for levels in combinations if not any(matches(rule, levels) for rule in study.exclude)]
    _check_labels(study, [_label(study, levels) for levels in kept])
    found = [_resolved(study, levels) for levels in kept]
    _check_tables(study, found)
    return found


def _label(study: Study, levels: Codes) -> str:
    """The codes of its levels; of a study without factors the subject."""
    return "_".join(levels.values()) or study.subject.kind


def _check_labels(study: Study, labels: Sequence[str]) -> None:
    """Raises InputError for duplicate labels, too few or too many, and for an unknown baseline."""
    if len(set(labels)) < len(labels):
        raise InputError("two options have the same label: give every level its own code", at=("factors",))
    if not labels:
        raise InputError("no option is left: each combination is excluded", "drop an exclusion", ("exclude",))
    if (runs := len(labels) * study.plan.blocks) > _RUNS_MAX:
        raise InputError(
            f"blocks of {len(labels):,} options make {runs:,} runs; at most {_RUNS_MAX:,}",
            "use fewer blocks or fewer levels",
            ("plan", "blocks"),
        )
    baseline = study.plan.baseline
    if baseline is not None and baseline not in labels:
        raise InputError(f'no option "{baseline}"{nearest(baseline, labels)}', at=("plan", "baseline"))


def _check_tables(study: Study, options: Options) -> None:
    """Raises InputError for a key without effect in any table but the workload."""
    given = study.model_dump(exclude_defaults=True)
    for at, reason in study.idle():
        if at[0] != "workload" and _has(given, at):
            raise InputError(f"has no effect: {reason}", "remove it", at)
    sessions = [idle(option.host, option.workload.background_clients) for option in options]
    hosts = [{(key,): reason for key, reason in found.items()} for found in sessions]
    _refuse_idle(study, "host", options, hosts, {key: (key,) for found in sessions for key in found})


def check_effects(study: Study, options: Options) -> None:
    """Raises InputError for a key of the workload that changes nothing. Its kind must be known."""
    found = [dict(option.workload.idle()) for option in options]
    _refuse_idle(study, "client", options, found, study.workload.client_settings())


def _refuse_idle(
    study: Study,
    scope: Scope,
    options: Options,
    found: Sequence[Mapping[KeyPath, str]],
    paths: Mapping[str, KeyPath],
) -> None:
    """found: of each option, keys without effect, with the reason. paths: of what a level may set."""
    given, table = study.model_dump(exclude_unset=True), "workload" if scope == "client" else scope
    for key in sorted(set(found[0]).intersection(*found)):
        if _has(given, at := (table, *key)):
            raise InputError(f"has no effect: {found[0][key]}", "remove it", at)
    for option, reasons in zip(options, found, strict=True):
        for at, setting, _ in settings_given(study, scope):
            reason = reasons.get(paths.get(setting, ()))
            if reason and at[0] == "factors" and option.levels[at[1]] == at[3]:
                raise InputError(
                    f"{setting} has no effect in {option.label}: {reason}",
                    "remove the setting, or exclude the combination with [[exclude]]",
                    at[:-1],
                )


def _has(table: Any, path: Sequence[str]) -> bool:
    for part in path:
        if part not in table:
            return False
        table = table[part]
    return True


def _resolved(study: Study, levels: Codes) -> Option:
    """The option of these levels: here factors become settings. Raises InputError."""
    label, changes = _label(study, levels), changes_of(study, levels)
    try:
        workload = changed(study.workload, changes.get("client", {}))
    except ValidationError as error:
        raise InputError(
            f"option {label}: {explain(error.errors()[0])}",
            "exclude the combination with [[exclude]]",
            ("factors",),
        ) from None
    if study.plan.transactions and not workload.counts_transactions:
        raise InputError(
            f"option {label}: the number of transactions cannot be fixed for a workload without statements",
            "remove it: measure_s ends the phase",
            ("plan", "transactions"),
        )
    bindir = changes.get("version", {}).get("bindir", study.subject.bindir)
    return Option(
        label,
        levels,
        workload,
        bindir=None if bindir is None else str(bindir),
        server={**study.subject.settings, **changes.get("server", {})},
        session={**study.subject.session, **changes.get("session", {})},
        host={**study.host, **changes.get("host", {})},
        schema={name: sql_of(study, name, level) for name, level in changes.get("schema", {}).items()},
    )


def differences(name: str, factor: Factor) -> Mapping[str, Settings]:
    """The settings of each level, by its code, without those that all share; switches are on and off."""
    switches = ("off", "on") if factor.scope in ("server", "session") else (False, True)
    found = {
        code: {key: switches[value] if isinstance(value, bool) else value for key, value in settings.items()}
        for code, settings in settings_of(name, factor).items()
    }
    shared = set[tuple[str, Setting]].intersection(*(set(one.items()) for one in found.values()))
    own = {code: dict(i for i in one.items() if i not in shared) for code, one in found.items()}
    return own if any(own.values()) else found


def baseline(study: Study, found: Options) -> str:
    """Label of the option that the others are compared with."""
    return study.plan.baseline or found[0].label


def blocks(study: Study, found: Options, boots_apart: bool = True) -> Iterator[list[Slot]]:
    """plan.blocks blocks, each holding every option once.

    Blocks come in pairs: a random order, then its reverse, so that a steady drift weighs on all
    options alike (under drift ABBA errs 2 % of the time, ABAB 28 %); the orders of
    different pairs are independent, drawn from plan.seed. Where options differ in settings of the boot
    and boots_apart, options of one boot are adjacent, and a pair begins with the boot that ended the
    previous pair: ABBA, with one boot per block.
    """
    chance = random.Random(study.plan.seed)
    order: list[Option] = []
    for block in range(1, study.plan.blocks + 1):
        if block % 2:
            last = _boot(order[-1]) if order else None
            order = list(found)
            chance.shuffle(order)
            if boots_apart:
                # options of a boot keep the drawn order; so do the boots, except the first
                drawn = list(dict.fromkeys(map(_boot, order)))
                drawn.sort(key=lambda boot: boot != last)
                order.sort(key=lambda option: drawn.index(_boot(option)))
        else:
            order = order[::-1]
        yield [Slot(block, place, option) for place, option in enumerate(order, start=1)]


def with_absent_arguments(found: Options) -> list[Option]:
    """Each option with `cmdline.NAME = false` for arguments of the command line that only others set.

    Where the machine itself boots, the option would otherwise run in a boot for another option.
    """
    named = sorted({key for option in found for key, _ in _boot(option)} - {KERNEL})
    absent = dict.fromkeys(named, False)
    return [replace(option, host={**absent, **option.host}) for option in found]


def _boot(option: Option) -> _Boot:
    return boot_of(option.host)


def redone_blocks_max(plan: Plan, keeps: bool) -> int:
    """How many disturbed blocks are run again, in the whole study. keeps: what `auto` stands for."""
    redo = plan.disturbed == "redo" or (plan.disturbed == "auto" and not keeps)
    return max(1, plan.blocks // 2) if redo else 0


def load_s(study: Study, queries_s: float = 0.0) -> float | None:
    """Expected length of warm-up and measure of one run; None: a run shows it.

    queries_s: of the subject, for all long queries once per unit of scale.
    """
    plan, workload = study.plan, study.workload
    points = [workload.point_s(n, plan.warm_up_s, plan.measure_s, queries_s) for n in plan.clients]
    return None if None in points else sum(filter(None, points))


def run_seconds(study: Study) -> float:
    """Length of one run without its set-up, in seconds."""
    plan = study.plan
    point_s = plan.warm_up_s + plan.measure_s + study.probes.scheduling_trace_s + study.probes.latch_count_s
    return len(plan.clients) * point_s + plan.cool_down_s
