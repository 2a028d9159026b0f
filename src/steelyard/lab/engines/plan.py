"""The load engine's plan for one run, from the study, the option and the server's endpoint."""

from __future__ import annotations

import math
from typing import Any

from steelyard.study.plan import Slot, run_seconds, workload_of
from steelyard.study.spec import Study
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Endpoint, Inside
from steelyard.workloads import Work
from steelyard.workloads.load_plan import load_plan

# connecting, logging in, inspection, writing the result
_MARGIN_S = 180.0


def engine_plan(study: Study, slot: Slot, work: Work, target: Endpoint | Inside) -> dict[str, Any]:
    """As the engine reads it (JSON). The seed is the study's: every option gets the same work.

    A simulation is told its block as well: only chance can make its blocks differ.
    """
    load = load_plan(study, slot.option, work)
    watch = {"watch_s": study.probes.sched_s} if study.probes.sched_s else {}
    if isinstance(target, Endpoint):
        ours = target.lwlocks and target.pid is not None
        count = {"count_s": study.probes.gets_s} if study.probes.gets_s and ours else {}
        return {**_address(target), **load, **watch, **count}
    if target.within is not None:
        within = {**_address(target.within), **load, **watch}
        return {**target.plan, "load": within, "probes": study.probes.of_the_kernel}
    return {**target.plan, **load, **({"block": slot.block} if target.simulated else {})}


def engine_limit_s(study: Study, slot: Slot, target: Endpoint | Inside) -> float:
    """The longest that an engine can take when nothing hangs; infinite for a simulation, which only computes.

    At each point the transactions under way end after warm-up and after measure, within their deadline.
    """
    if isinstance(target, Inside) and target.within is not None:
        return float(target.plan["limit_s"]) + _MARGIN_S
    if isinstance(target, Inside) and target.simulated:
        return math.inf
    workload = workload_of(study, slot.option)
    deadline_s = 0.0
    if isinstance(workload, StatementWorkload):
        deadline_s = workload.deadline_ms / 1e3
    elif isinstance(workload, QueriesWorkload | ProgramWorkload):
        deadline_s = workload.deadline_s
    return run_seconds(study) + 2 * len(study.plan.clients) * deadline_s + _MARGIN_S


def _address(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "server": {
            "protocol": endpoint.protocol,
            "socket": endpoint.socket,
            "host": endpoint.host,
            "port": endpoint.port,
            "user": endpoint.user,
            "password": endpoint.password,
            "database": endpoint.database,
            "tls": endpoint.tls,
            "ca_file": endpoint.ca_file,
        },
        "session": list(endpoint.session),
        "inspect": [{"name": name, "sql": sql} for name, sql in endpoint.inspect.items()],
    }
