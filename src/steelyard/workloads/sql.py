"""Statements of the user's own, from the study file."""

from __future__ import annotations

from steelyard import _core
from steelyard.study.errors import InputError, nearest
from steelyard.study.workloads.statements import Statement, StatementWorkload
from steelyard.workloads import Work


def sql(workload: StatementWorkload) -> Work:
    """The work of [workload.statements] and [workload.transactions]. Raises InputError."""
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
    for name, statement in workload.statements.items():
        _check_parameters(name, statement)
    if workload.text != "identical" and not any(map(_varies, workload.statements.values())):
        raise InputError(
            f"text is '{workload.text}', but no statement contains {{tag}}",
            "put {tag} into the SQL, for example in an alias: select 1 as a{tag}",
            ("workload", "statements"),
        )
    return Work(workload.statements, workload.transactions, script=workload.schema_sql)


def _check_parameters(name: str, statement: Statement) -> None:
    """Each `:name` needs its generator, and each generator its `:name`."""
    at = ("workload", "statements", name)
    named = _core.statement_parameters(statement.sql)
    for parameter in named:
        if parameter not in statement.parameters:
            raise InputError(
                f"no generator for :{parameter}",
                f'parameters.{parameter} = {{ kind = "uniform", low = 1, high = 100 }}',
                (*at, "sql"),
            )
    for parameter in statement.parameters:
        if parameter not in named:
            raise InputError(
                f"the SQL has no :{parameter}{nearest(parameter, named)}",
                at=(*at, "parameters", parameter),
            )


def _varies(statement: Statement) -> bool:
    return "{tag}" in statement.sql
