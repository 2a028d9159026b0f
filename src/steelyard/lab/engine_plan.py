"""The load engine's plan for one run, from the study, the option and the server's endpoint."""

from __future__ import annotations

from typing import Any

from steelyard.study.plan import Option, Slot, workload_of
from steelyard.study.spec import Study
from steelyard.study.statements import StatementWorkload
from steelyard.subjects import Endpoint, Inside
from steelyard.workloads import Work


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
    if isinstance(target, Endpoint):
        return {**_statements(study, slot.option, work, target), **phases}
    if target.within is not None:
        load = {**_statements(study, slot.option, work, target.within), **phases}
        return {**target.plan, "load": load}
    return {**target.plan, **({"block": slot.block} if target.simulated else {}), **phases}


def _statements(study: Study, option: Option, work: Work, endpoint: Endpoint) -> dict[str, Any]:
    workload = workload_of(study, option)
    assert isinstance(workload, StatementWorkload)
    transactions = work.transactions
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
        "handle": workload.handle,
        "text": workload.text,
        "distinct_texts": workload.distinct_texts,
        "parameters": "client" if workload.sends_parameters else "none",
        "statements": [
            {"name": name, **statement.model_dump(include={"sql", "parameters"})}
            for name, statement in work.statements.items()
        ],
        "transactions": [
            {
                "name": name,
                "weight": transaction.weight,
                "statements": transaction.statements,
                "begin": transaction.begin,
            }
            for name, transaction in transactions.items()
        ]
        or [
            {"name": name, "weight": statement.weight, "statements": [name], "begin": False}
            for name, statement in work.statements.items()
        ],
        "arrival": _arrival(workload.arrival.model_dump()),
        "deadline_ms": workload.deadline_ms,
        "threads": workload.threads,
        "transactions_max": study.plan.transactions,
        "inspect": [{"name": name, "sql": sql} for name, sql in endpoint.inspect.items()],
    }


def _arrival(arrival: dict[str, Any]) -> dict[str, Any]:
    keys = ("kind", "think_ms", "think") if arrival["kind"] == "closed" else ("kind", "rate_per_s", "spacing")
    return {key: arrival[key] for key in keys}
