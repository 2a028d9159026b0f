"""Statements of the user's own, from the study file."""

from __future__ import annotations

from steelyard.study.errors import InputError, nearest
from steelyard.study.spec import Workload
from steelyard.workloads import Work


def sql(workload: Workload) -> Work:
    """What [workload.statements] and [workload.transactions] say. Raises InputError."""
    if not workload.statements:
        raise InputError(
            "kind 'sql' needs statements",
            'add [workload.statements.NAME] with sql = "..."',
            ("workload", "statements"),
        )
    for name, transaction in workload.transactions.items():
        for statement in transaction.statements:
            if statement not in workload.statements:
                raise InputError(
                    f'no statement "{statement}"{nearest(statement, workload.statements)}',
                    at=("workload", "transactions", name, "statements"),
                )
    return Work(workload.statements, workload.transactions, script=workload.schema_sql)
