"""The part of the load engine's plan that the study gives, and the engine's own check of it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard import _core
from steelyard.errors import InputError
from steelyard.sql_text import commands_of
from steelyard.study.study import Option, Study
from steelyard.workloads import Scripted, Work

# neither returns nor changes rows; a JDBC driver, and MariaDB, say 0 all the same
_UNCOUNTED = re.compile(
    r"(set|do|call|begin|start|commit|end|rollback|abort|savepoint|release|lock|unlock|create|alter|drop"
    r"|truncate|analyze|vacuum|checkpoint|use|flush|reset|prepare|deallocate|discard|listen|notify|declare"
    r"|close|pragma)\b",
    re.IGNORECASE,
)
# by key of the engine's plan, what lets several hosts divide it
_DIVISIBLE = {
    "points": "more clients in plan.clients, or fewer hosts with the role load",
    "transactions_max": "remove plan.transactions: measure_s ends the phase",
}


def anywhere(protocol: str) -> dict[str, Any]:
    """A placeholder for the target of the load, which is known only when the subject has started."""
    server = dict.fromkeys(("host", "user", "database"), "any")
    return {"server": {"protocol": protocol, "port": 1, "tls": "disable", **server}}


def load_plan(study: Study, option: Option, work: Work) -> dict[str, Any]:
    """Statements, arrival and phases as the engine reads them (JSON); without the target of the load.

    work: the option's. The seed is the study's: every option gets the same work. Workloads without
    statements have phases only.
    """
    plan = study.plan
    phases = {
        "points": plan.clients,
        **plan.model_dump(include={"warm_up_s", "measure_s", "cool_down_s", "seed"}),
    }
    keys = option.workload.load_keys()
    if keys is None:
        return phases
    if option.workload.counts_transactions:
        phases["transactions_max"] = plan.transactions
    orders = option.workload.orders(list(work.statements), max(plan.clients), plan.seed)
    return {
        **keys,
        "statements": [
            {
                "name": name,
                **statement.model_dump(include={"sql", "parameters"}),
                **({"captured": work.captured[name]} if name in work.captured else {}),
            }
            for name, statement in work.statements.items()
        ],
        # a client executes all statements in its own order
        "transactions": [
            {"name": f"stream{number}", "weight": 1, "statements": order, "begin": False}
            for number, order in enumerate(orders)
        ]
        or list(_transactions(work)),
        **phases,
    }


def check_load(study: Study, option: Option, work: Work, target: Mapping[str, Any]) -> None:
    """Checks the load of an option before anything starts. Raises InputError.

    target: the part of the plan with the target of the load.
    """
    if option.workload.load_keys() is None:
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
                "remove it: measure_s ends the phase",
                ("plan", "transactions"),
            ) from None
        raise InputError(
            f"option {option.label}: {cause}",
            "change the level, or exclude the combination with [[exclude]]",
            ("factors",),
        ) from None


def check_division(study: Study, option: Option, work: Work, target: Mapping[str, Any]) -> None:
    """Checks whether the load hosts of the study can divide the load of an option. Raises InputError."""
    fleet = study.fleet
    if fleet is None or option.workload.load_keys() is None:
        return
    share = {"host": 0, "hosts": len(fleet.with_role("load"))}
    try:
        _core.load_check(json.dumps({**target, **load_plan(study, option, work), "share": share}))
    except _core.PlanError as error:
        field, _, cause = str(error).partition(": ")
        hint = _DIVISIBLE.get(field, "give one host alone the role load")
        raise InputError(f"option {option.label}: {cause}", hint, ("fleet", "hosts")) from None


def counts(sql: str, protocol: str) -> bool:
    """Whether its executions return or change a number of rows."""
    return not all(map(_UNCOUNTED.match, commands_of(sql, protocol)))


def _transactions(work: Work) -> Iterator[dict[str, Any]]:
    """The transactions of the work; without any, one per statement."""
    for name, transaction in work.transactions.items():
        if isinstance(transaction, Scripted):
            yield {"name": name, **vars(transaction)}
        else:
            yield {"name": name, **transaction.model_dump()}
    if not work.transactions:
        for name, statement in work.statements.items():
            yield {"name": name, "weight": statement.weight, "statements": [name], "begin": False}
