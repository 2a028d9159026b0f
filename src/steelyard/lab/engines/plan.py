"""The load engine's plan for one run, from the study, the option and the server's endpoint."""

from __future__ import annotations

import math
from typing import Any

from steelyard.study.plan import Slot, run_seconds
from steelyard.study.spec import Study
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.study.workloads.queries import QueriesWorkload, stream_orders
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Endpoint, Inside
from steelyard.workloads import Work

# connecting, logging in, inspection, writing the result
_MARGIN_S = 180.0


def engine_plan(study: Study, slot: Slot, work: Work, target: Endpoint | Inside) -> dict[str, Any]:
    """As the engine reads it (JSON). The seed is the study's: every option gets the same work.

    A simulation is told its block as well: only chance can make its blocks differ.
    """
    plan = study.plan
    phases = {
        "points": plan.clients,
        "warm_up_s": plan.warm_up_s,
        "measure_s": plan.measure_s,
        "cool_down_s": plan.cool_down_s,
        "seed": plan.seed,
    }
    workload, asked = slot.option.workload, dict[str, Any]()
    if isinstance(workload, StatementWorkload):
        asked = {**_statements(workload, work), "transactions_max": plan.transactions}
    elif isinstance(workload, QueriesWorkload):
        asked = _queries(workload, work, study)
    watch = {"watch_s": study.probes.sched_s} if study.probes.sched_s else {}
    if isinstance(target, Endpoint):
        ours = target.lwlocks and target.pid is not None
        count = {"count_s": study.probes.gets_s} if study.probes.gets_s and ours else {}
        return {**_address(target), **asked, **phases, **watch, **count}
    if target.within is not None:
        load = {**_address(target.within), **asked, **phases, **watch}
        return {**target.plan, "load": load, "probes": study.probes.of_the_kernel}
    return {**target.plan, **asked, **({"block": slot.block} if target.simulated else {}), **phases}


def engine_limit_s(study: Study, slot: Slot, target: Endpoint | Inside) -> float:
    """The longest that an engine can take when nothing hangs; infinite for a simulation, which only computes.

    At each point the transactions under way end after warm-up and after measure, within their deadline.
    """
    if isinstance(target, Inside) and target.within is not None:
        return float(target.plan["limit_s"]) + _MARGIN_S
    if isinstance(target, Inside) and target.simulated:
        return math.inf
    workload = slot.option.workload
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


def _texts(work: Work) -> list[dict[str, Any]]:
    return [
        {"name": name, **statement.model_dump(include={"sql", "parameters"})}
        for name, statement in work.statements.items()
    ]


def _queries(workload: QueriesWorkload, work: Work, study: Study) -> dict[str, Any]:
    """A transaction a stream: all queries in the stream's order, as whole rounds."""
    orders = stream_orders(list(work.statements), max(study.plan.clients), study.plan.seed)
    return {
        "handle": "none",
        "text": "identical",
        "distinct_texts": 1,
        "parameters": "none",
        "statements": _texts(work),
        "transactions": [
            {"name": f"stream{number}", "weight": 1, "statements": order, "begin": False}
            for number, order in enumerate(orders)
        ],
        "arrival": {"kind": "rounds"},
        "deadline_ms": workload.deadline_s * 1e3,
        "message_mib_max": workload.message_mib_max,
        "threads": workload.engine_threads,
    }


def _statements(workload: StatementWorkload, work: Work) -> dict[str, Any]:
    return {
        "handle": workload.handle,
        "text": workload.text,
        "distinct_texts": workload.distinct_texts,
        "parameters": "client" if workload.sends_parameters else "none",
        "statements": _texts(work),
        "transactions": [
            {
                "name": name,
                "weight": transaction.weight,
                "statements": transaction.statements,
                "begin": transaction.begin,
            }
            for name, transaction in work.transactions.items()
        ]
        or [
            {"name": name, "weight": statement.weight, "statements": [name], "begin": False}
            for name, statement in work.statements.items()
        ],
        "arrival": _arrival(workload.arrival.model_dump()),
        "deadline_ms": workload.deadline_ms,
        "message_mib_max": workload.message_mib_max,
        "threads": workload.threads,
    }


def _arrival(arrival: dict[str, Any]) -> dict[str, Any]:
    keys = ("kind", "think_ms", "think") if arrival["kind"] == "closed" else ("kind", "rate_per_s", "spacing")
    return {key: arrival[key] for key in keys}
