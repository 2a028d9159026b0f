"""The load engine's plan for one run, from the study, the option and what the subject is ready for."""

from __future__ import annotations

from typing import Any

from steelyard.study.plan import Slot, run_seconds
from steelyard.study.spec import Study
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.study.workloads.queries import QueriesWorkload, stream_orders
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Load, Server
from steelyard.workloads import Work

# connecting, logging in, inspection, writing the result
_MARGIN_S = 180.0


def engine_plan(study: Study, slot: Slot, work: Work, load: Load) -> dict[str, Any]:
    """As the engine reads it (JSON): the subject's own keys, the work, the phases.

    The seed is the study's: every option gets the same work. A simulation gets its block as well: only
    chance can make its blocks differ.
    """
    plan, server = study.plan, load.server
    phases = {
        "points": plan.clients,
        "warm_up_s": plan.warm_up_s,
        "measure_s": plan.measure_s,
        "cool_down_s": plan.cool_down_s,
        "seed": plan.seed,
    }
    workload, wanted = slot.option.workload, dict[str, Any]()
    if isinstance(workload, StatementWorkload):
        wanted = {**_statements(workload, work), "transactions_max": plan.transactions}
    elif isinstance(workload, QueriesWorkload):
        wanted = _queries(workload, work, study)
    if server is None:
        block = {"block": slot.block} if load.own_clock else {}
        return {**load.plan, **wanted, **block, **phases}
    watch = {"watch_s": study.probes.sched_s} if study.probes.sched_s else {}
    countable = server.latch_names is not None and server.pid is not None
    count = {"count_s": study.probes.gets_s} if study.probes.gets_s and countable else {}
    return {**load.plan, **_address(server), **wanted, **phases, **watch, **count}


def engine_limit_s(study: Study, slot: Slot, load: Load) -> float:
    """The longest that an engine can take when nothing hangs.

    At each point the transactions under way end after warm-up and after measure, within their deadline.
    """
    if load.limit_s is not None:
        return load.limit_s + _MARGIN_S
    workload = slot.option.workload
    deadline_s = 0.0
    if isinstance(workload, StatementWorkload):
        deadline_s = workload.deadline_ms / 1e3
    elif isinstance(workload, QueriesWorkload | ProgramWorkload):
        deadline_s = workload.deadline_s
    return run_seconds(study) + 2 * len(study.plan.clients) * deadline_s + _MARGIN_S


def _address(server: Server) -> dict[str, Any]:
    return {
        "server": {
            "protocol": server.protocol,
            "socket": server.socket,
            "host": server.host,
            "port": server.port,
            "user": server.user,
            "password": server.password,
            "database": server.database,
            "tls": server.tls,
            "ca_file": server.ca_file,
        },
        "session": list(server.session),
        "inspect": [{"name": name, "sql": sql} for name, sql in server.inspect.items()],
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
