"""Whether server and machine admit the clients of a plan: connections and open files."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from functools import partial

from steelyard.host.processes.limits import TimedOut, within
from steelyard.lab.doctor.permissions import FILES_OF_AN_ENGINE
from steelyard.lab.laboratory import readers_of
from steelyard.monitors import MONITORS
from steelyard.study.errors import InputError
from steelyard.study.factors import settings_given
from steelyard.study.plan import Option
from steelyard.subjects import Bench, Kind, Load
from steelyard.subjects.drivers.connection import driven
from steelyard.subjects.in_turns import servers_of

_ANSWER_S = 30.0
_LIMIT = "max_connections"
_OF_THE_MACHINE = "steelyard.monitors.system."
_AT = ("plan", "clients")


def open_files(bench: Bench) -> Iterator[InputError]:
    """An error where a load engine may not open a file for each client."""
    need = max(bench.study.plan.clients) + FILES_OF_AN_ENGINE
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    own = bench.study.fleet is None and not all(map(driven, bench.options))
    if own and bench.works[bench.options[0].label].statements and need > allowed:
        text = f"the load engine needs {need} open files, and the limit of this shell is {allowed}"
        yield InputError(text, f"ulimit -n {need} (as root above ulimit -Hn), or fewer clients", _AT)


def connections(bench: Bench, kind: Kind, option: Option, load: Load, in_turns: bool) -> Iterator[InputError]:
    """An error where clients and monitors need more connections than are left. Not of a factor's limit."""
    server, study = load.server, bench.study
    limited = any(key == _LIMIT and at[0] == "factors" for at, key, _ in settings_given(study, "server"))
    # clients of a pooler wait for a connection
    if server is None or server.number is None or not server.left_sql or server.roles or limited:
        return
    ask, servers = partial(server.number, server.left_sql), servers_of(study, bench.options)
    try:
        left = within(_ANSWER_S, "asking for connections", ask)
    except (TimedOut, *kind.driver_errors):
        # a server that speaks the protocol may lack the views
        return
    sharing = list(servers.values()).count(servers[option.label]) if in_turns else 1
    monitors = sum(not MONITORS.get(name, "").startswith(_OF_THE_MACHINE) for name in readers_of(study, kind))
    clients = max(study.plan.clients)
    need = (clients + monitors) * sharing
    if need > left:
        own = "" if study.subject.dsn else f", or settings = {{ {_LIMIT} = {need} }} under [subject]"
        yield InputError(
            f"{sharing} x ({clients} clients + {monitors} monitors) need {need} connections;"
            f" the server still admits {left}",
            "fewer clients" + ", plan.turns = false" * (sharing > 1) + own,
            _AT,
        )
