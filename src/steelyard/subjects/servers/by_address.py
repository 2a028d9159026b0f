"""A server that is not ours, by address: what of a study can act there."""

from __future__ import annotations

from steelyard.study.errors import InputError
from steelyard.study.factors import settings_given
from steelyard.study.study import Study


def check_foreign(study: Study) -> None:
    """Only sessions, clients and what is ours on this host can change. Raises InputError."""
    for name, factor in study.factors.items():
        if factor.scope in ("version", "server"):
            raise InputError(
                f"subject.dsn names a server that is not ours: scope '{factor.scope}' cannot act there",
                'scope session and client can; scope host too, but for settings "server."',
                ("factors", name, "scope"),
            )
    for at, key, _ in settings_given(study, "host"):
        if key.startswith("server."):
            raise InputError(
                f"subject.dsn names a server that is not ours: {key} cannot be set there",
                "engine., hogs. and settings of this machine can",
                at,
            )
