"""A server at an address: checks which factors and settings of a study can act on it."""

from __future__ import annotations

from steelyard.study.errors import InputError
from steelyard.study.factors import settings_given
from steelyard.study.study import Study
from steelyard.workloads import work_of


def check_foreign(study: Study) -> None:
    """Raises InputError for a factor or setting that acts on a server at an address."""
    if work_of(study.workload).directory is not None:
        raise InputError(
            "subject.dsn names a server at an address: its own database is used",
            "leave data_directory out",
            ("workload", "data_directory"),
        )
    for name, factor in study.factors.items():
        if factor.scope == "schema":
            raise InputError(
                "scope 'schema' would change the tables of a server that the lab did not start (subject.dsn)",
                "leave dsn out: data_file and data_directory take a copy of its data",
                ("factors", name, "scope"),
            )
        if factor.scope in ("version", "server"):
            raise InputError(
                f"scope '{factor.scope}' cannot act on a server that the lab did not start (subject.dsn)",
                'use scope session or client, or scope host without settings "server."',
                ("factors", name, "scope"),
            )
    for at, key, _ in settings_given(study, "host"):
        if key.startswith("server."):
            raise InputError(
                f"{key} cannot be set for a server that the lab did not start (subject.dsn)",
                "use engine., hogs. and settings of this machine",
                at,
            )
