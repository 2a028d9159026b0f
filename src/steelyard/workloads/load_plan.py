"""The load engine's plan as far as the study gives it, and the engine's own check of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from steelyard import _core
from steelyard.study.errors import InputError
from steelyard.study.plan import Option
from steelyard.study.spec import Study
from steelyard.study.workloads.queries import QueriesWorkload, stream_orders
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.workloads import Work

# where the load goes is known only once the subject has started
_ANYWHERE = {"server": dict.fromkeys(("host", "user", "database"), "any") | {"port": 1, "tls": "disable"}}


def load_plan(study: Study, option: Option, work: Work) -> dict[str, Any]:
    """Statements, arrival and phases as the engine reads them (JSON); without where the load goes.

    The seed is the study's: every option gets the same work. Workloads without statements give phases alone.
    """
    plan = study.plan
    phases = {
        "points": plan.clients,
        "warm_up_s": plan.warm_up_s,
        "measure_s": plan.measure_s,
        "cool_down_s": plan.cool_down_s,
        "seed": plan.seed,
    }
    workload = option.workload
    if isinstance(workload, StatementWorkload):
        return {**_statements(workload, work), "transactions_max": plan.transactions, **phases}
    if isinstance(workload, QueriesWorkload):
        return {**_queries(workload, work, study), **phases}
    return phases


def check_load(study: Study, option: Option, work: Work, target: Mapping[str, Any] = _ANYWHERE) -> None:
    """Refuses what the load engine would refuse of an option, before anything starts. Raises InputError.

    target: the part of the plan that says where the load goes.
    """
    if not isinstance(study.workload, StatementWorkload | QueriesWorkload):
        return
    try:
        _core.load_check(json.dumps({**target, **load_plan(study, option, work)}))
    except _core.PlanError as error:
        field, _, cause = str(error).partition(": ")
        if field.startswith(("statements", "transactions.")):
            raise InputError(cause, at=("workload", *field.split("."))) from None
        if field == "transactions_max":
            raise InputError(
                f"option {option.label}: {cause}",
                "leave it out: measure_s ends the phase",
                ("plan", "transactions"),
            ) from None
        raise InputError(
            f"option {option.label}: {cause}",
            "change the level, or leave the combination out with [[exclude]]",
            ("factors",),
        ) from None


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
