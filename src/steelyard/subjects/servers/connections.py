"""Whether a server that the lab starts admits as many clients as the plan has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.study.errors import InputError
from steelyard.study.factors import settings_of
from steelyard.study.key_types import Setting
from steelyard.study.plan import Option
from steelyard.study.study import Study

_LIMIT = "max_connections"


def check_connections(study: Study, options: Sequence[Option], defaults: Mapping[str, Setting]) -> None:
    """Raises InputError for more clients than connections, unless a factor sets the limit itself.

    defaults: of the lab. options: those whose clients connect to the server itself.
    """
    levels = (settings_of(name, factor) for name, factor in study.factors.items() if factor.scope == "server")
    if any(_LIMIT in settings for found in levels for settings in found.values()):
        return
    most = max(study.plan.clients)
    for option in options:
        limit = {**defaults, **option.server}.get(_LIMIT)
        if isinstance(limit, int) and most > limit:
            raise InputError(
                f"{most} clients are more than the {limit} connections that the server admits"
                f" ({_LIMIT} = {limit})",
                f"settings = {{ {_LIMIT} = {most + 20} }} under [subject]",
                ("plan", "clients"),
            )
