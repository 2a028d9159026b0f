"""Whether the options of a block can take turns, and which of them share a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.study.errors import InputError
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.subjects import kind_of

# each needs memory and disk for its own data
_SERVERS_MAX = 4


def in_turns(study: Study, options: Sequence[Option]) -> bool:
    """Whether the options of a block take turns. Raises InputError where the study wants it in vain."""
    obstacle = why_one_after_another(study, options)
    if obstacle and study.plan.turns is True:
        raise InputError(f"turns are not possible: {obstacle}", 'turns = "auto" or false', ("plan", "turns"))
    return not obstacle


def why_one_after_another(study: Study, options: Sequence[Option]) -> str:
    """Why the options of a block run one after another, as a clause; '' where they take turns."""
    kind, plan = kind_of(study), study.plan
    workloads = [option.workload for option in options]
    reasons = {
        "the study says so (plan.turns)": plan.turns is False,
        "there is one option": len(options) < 2,
        f"{kind.name} does not support it": not kind.turns,
        "a number of transactions ends each run (plan.transactions)": plan.transactions is not None,
        "rounds of queries are longer than a turn": not all(workload.steady for workload in workloads),
        "requests that arrive at a rate would wait for the next turn": any(w.open_loop for w in workloads),
        "many statement texts, or statements left open, fill caches that options would share": any(
            workload.fills for workload in workloads
        ),
        "the kernel's probes watch one option at a time (probes)": study.probes.requested,
        "host settings hold for one option at a time": any(option.host for option in options),
        f"more than {_SERVERS_MAX} servers would be up at the same time": len(
            set(servers_of(options).values())
        )
        > _SERVERS_MAX,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def servers_of(options: Sequence[Option]) -> Mapping[str, int]:
    """The number of each option's server, from 0, by label; those that differ in session and client share."""
    numbers: dict[str, int] = {}
    found: dict[str, int] = {}
    for option in options:
        key = repr((option.bindir, sorted(option.server.items()), sorted(option.schema.items())))
        found[option.label] = numbers.setdefault(key, len(numbers))
    return found
