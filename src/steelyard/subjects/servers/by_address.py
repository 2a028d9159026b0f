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
    grows, reloads = bool(work_of(study.workload).grows), study.subject.restore == "reload"
    if reloads and study.subject.kind != "postgres":
        raise InputError("restore = 'reload' is for PostgreSQL", "leave dsn out", ("subject", "restore"))
    if grows and not reloads:
        instead = (
            ', or restore = "reload": in a schema of its own' if study.subject.kind == "postgres" else ""
        )
        raise InputError(
            "subject.dsn names a server at an address: the lab cannot restore its data for each block",
            f"leave dsn out: the lab starts a server and fills it{instead}",
            ("workload", "kind"),
        )
    if reloads and not grows:
        raise InputError(
            'restore = "reload" has no effect: runs add nothing to the data of this workload',
            "remove it",
            ("subject", "restore"),
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
