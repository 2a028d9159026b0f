"""A server that is not ours, by address: what of a study can act there."""

from __future__ import annotations

from steelyard.study.errors import InputError
from steelyard.study.factors import settings_of
from steelyard.study.spec import Study


def check_foreign(study: Study) -> None:
    """Only sessions, clients and what is ours on this host can change. Raises InputError."""
    foreign = [(("host", key), key) for key in study.host]
    for name, factor in study.factors.items():
        if factor.scope in ("version", "server"):
            raise InputError(
                f"subject.dsn names a server that is not ours: scope '{factor.scope}' cannot act there",
                'scope session and client can; scope host too, but for settings "server."',
                ("factors", name, "scope"),
            )
        if factor.scope == "host":
            foreign += [
                (("factors", name, "levels", code), key)
                for code, settings in settings_of(name, factor).items()
                for key in settings
            ]
    for at, key in foreign:
        if key.startswith("server."):
            raise InputError(
                f"subject.dsn names a server that is not ours: {key} cannot be set there",
                "engine., hogs. and settings of this machine can",
                at,
            )
