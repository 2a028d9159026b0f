"""The load engine's plan for one run, from the study, the option and the subject's load."""

from typing import Any

from steelyard.lab.engines.result import Json
from steelyard.study.plan import run_seconds
from steelyard.study.study import Slot, Study
from steelyard.subjects import Load
from steelyard.subjects.servers.by_address import commits_itself
from steelyard.workloads import Work
from steelyard.workloads.load_plan import counts, load_plan

# connecting, logging in, inspection, writing the result
_MARGIN_S = 180.0
_BLOCKS_MAX = 1000
_ADDRESS = "protocol socket host port user password database tls ca_file escapes"
# executions of a statement until a new connection treats it as it does for good: by name PostgreSQL plans it
# five times before it keeps a plan; a JDBC driver names it after prepareThreshold more
_PRIMING = {"named": 6}
_PREPARE_THRESHOLD = 5
_PRIMING_S_MAX = 30.0
# of those that need one execution: the first turn would do as well
_PRIMING_ONCE_S_MAX = 0.25
LIFE_PER_PRIMING = 4
"""Least length of the load of new connections, in times of what they need before it."""


def engine_plan(
    study: Study, slot: Slot, work: Work, load: Load, numbers: tuple[int, int] = (0, 1)
) -> dict[str, Any]:
    """The plan in the engine's format (JSON): the subject's own keys, the work, the phases.

    numbers: on data that stay as they are, the first number of each sequence and the step to the next, as
    runs before and options beside it have drawn others.

    The seed is that of the block: all its options get the same work, and each block other work, so that
    what is by chance in the work is in the intervals. A simulation also gets the number of its block.
    """
    seed = (study.plan.seed * (_BLOCKS_MAX + 1) + slot.block) % 2**63
    plan: dict[str, Any] = {**load_plan(study, slot.option, work), "seed": seed}
    server = load.server
    for one in plan.get("statements", ()):
        one["counts"] = counts(one["sql"], server.protocol if server else "standard")
    if numbers != (0, 1):
        plan |= {
            key: [_numbered(one, numbers) for one in plan[key]] for key in ("statements", "transactions")
        }
    if server is not None and study.workload.steady and "handle" in plan:
        plan |= _priming(plan, work, load, server.protocol)
    if server is None:
        block = {"block": slot.block} if load.own_clock else {}
        return {**load.plan, **plan, **block}
    countable = server.latch_names is not None and server.pid is not None and not study.subject.dsn
    return {
        **load.plan,
        "server": {name: getattr(server, name) for name in _ADDRESS.split()},
        "session": list(server.session),
        "turn_end": server.turn_end,
        "inspect": [{"name": name, "sql": sql} for name, sql in server.inspect.items()],
        **plan,
        "scheduling_trace_s": study.probes.scheduling_trace_s,
        "latch_count_s": study.probes.latch_count_s if countable else 0.0,
    }


def _numbered(part: Json, numbers: tuple[int, int]) -> Json:
    """A statement or transaction of the plan whose sequences begin and step so."""
    first, step = numbers

    def of(generator: Json) -> Json:
        if generator["kind"] not in ("sequence", "unique"):
            return generator
        own = generator.get("step", 1)
        start = generator["start"] + own * first
        return {**generator, "kind": "sequence", "start": start, "step": own * step}

    given = {key: part[key] for key in ("parameters", "values") if part.get(key)}
    return {**part, **{key: {name: of(one) for name, one in found.items()} for key, found in given.items()}}


def _priming(plan: Json, work: Work, load: Load, protocol: str) -> Json:
    """How often new connections execute each transaction before their load: those that a roll back undoes."""
    times = _PRIMING.get(plan["handle"], 1)
    if (jdbc := load.plan.get("jdbc")) and times > 1:
        times += int(jdbc["properties"].get("prepareThreshold", _PREPARE_THRESHOLD))
    stay = {name for name, one in work.statements.items() if commits_itself(protocol, one.sql)}
    return {
        "prime": times,
        "prime_s": _PRIMING_S_MAX if times > 1 else _PRIMING_ONCE_S_MAX,
        "transactions": [{**one, "primes": not names_of(one) & stay} for one in plan["transactions"]],
    }


def names_of(part: Json) -> set[str]:
    """All names in a transaction of the plan, or in a step: its own, and its statements'."""
    inner = (step for key in ("steps", "then", "else") for step in part.get(key, ()))
    return {part.get("name", ""), *part.get("statements", ())}.union(*map(names_of, inner))


def engine_limit_s(study: Study, slot: Slot, load: Load) -> float:
    """The longest run time of an engine that does not hang.

    At each load point, running transactions end after warm-up and after measure, within their deadline, and
    so does the last one that new connections execute before. A driver's warm-up may last longer.
    """
    if load.limit_s is not None:
        return load.limit_s + _MARGIN_S
    longest_s = slot.option.workload.longest_s
    warm_up_max_s = load.plan.get("jdbc", {}).get("warm_up_max_s", 0.0)
    point_s = _PRIMING_S_MAX + warm_up_max_s + 3 * longest_s
    return run_seconds(study) + len(study.plan.clients) * point_s + _MARGIN_S
