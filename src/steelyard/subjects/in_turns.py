"""Whether the options of a block can take turns, and which of them share a server."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from steelyard.errors import InputError
from steelyard.study.host_settings import lasting
from steelyard.study.study import Options, Study
from steelyard.subjects import kind_of
from steelyard.subjects.drivers.connection import IN_PROCESS, driven
from steelyard.subjects.servers.by_address import written
from steelyard.subjects.servers.room import Room, free_room
from steelyard.workloads import work_of

# each has background processes of its own
_SERVERS_MAX = 8
# of what is free: the rest is for the page cache, and for what was estimated too low
_SHARE_MAX = 0.8


def why_one_after_another(study: Study, options: Options, free: Room | None = None) -> str:
    """Why the options of a block run one after another, as a clause; '' where they take turns.

    free: memory and disk for servers; default: those of this machine. Raises InputError for turns in vain.
    """
    obstacle = next(_obstacles(study, options, free), "")
    if obstacle and study.plan.turns is True:
        raise InputError(f"turns are not possible: {obstacle}", 'turns = "auto" or false', ("plan", "turns"))
    return obstacle


def servers_of(study: Study, options: Options, wrote: bool = False) -> Mapping[str, int]:
    """The number of each option's server in turns, from 0, by label: as `distinct_servers`, but where options
    write (wrote: the trial found it) each has its own. On shared data the second finds what the first left.
    """
    kind = kind_of(study)
    own = kind.footprint is not None and study.subject.dsn is None
    if own and (wrote or written((work_of(option.workload) for option in options), kind.protocol)):
        return {option.label: number for number, option in enumerate(options)}
    return distinct_servers(options)


def distinct_servers(options: Options) -> Mapping[str, int]:
    """The number of each option's server, from 0: of other programs, settings, schema or scheduling."""
    numbers: dict[str, int] = {}
    found: dict[str, int] = {}
    for option in options:
        host = {key: value for key, value in option.host.items() if key.startswith("server.")}
        parts = (option.server, option.schema, host)
        key = repr((option.bindir, *(sorted(part.items()) for part in parts)))
        found[option.label] = numbers.setdefault(key, len(numbers))
    return found


def room_of_servers(study: Study, options: Options) -> Room:
    """Memory and disk that the servers of a block in turns take, estimated; nothing for one alone."""
    footprint = kind_of(study).footprint
    servers = servers_of(study, options)
    if footprint is None or len(set(servers.values())) < 2:
        return Room(0, 0)
    rooms: dict[int, list[Room]] = {}
    for option in options:
        number = servers[option.label]
        # every option has connections of its own
        sessions = max(study.plan.clients) * list(servers.values()).count(number)
        settings = {**option.server, **option.session}
        rooms.setdefault(number, []).append(footprint.room(work_of(option.workload), settings, sessions))
    return Room(
        sum(max(room.memory_bytes for room in found) for found in rooms.values()),
        sum(max(room.disk_bytes for room in found) for found in rooms.values()),
    )


def data_s(study: Study, options: Options, in_turns: bool) -> float:
    """Typical time until the servers of a study have their data, before the first run.

    The rehearsal starts each distinct server once, and makes the data of each version; in turns each further
    server makes its own.
    """
    kind, servers = kind_of(study), len(set(servers_of(study, options).values()))
    if kind.footprint is None or study.subject.dsn is not None:
        return 0.0
    made = len({option.bindir for option in options}) + (servers - 1 if in_turns else 0)
    return made * kind.footprint.data_s(work_of(study.workload)) + servers * kind.set_up_s


def _obstacles(study: Study, options: Options, free: Room | None) -> Iterator[str]:
    kind, plan = kind_of(study), study.plan
    workloads = [option.workload for option in options]
    pauses = next((workload.long_pauses for workload in workloads if workload.long_pauses), "")
    urls = [study.subject.dsn or "", *(workload.driver_url for o in options if (workload := driven(o)))]
    in_process = any(IN_PROCESS in url for url in urls)
    reasons = {
        "the study says so (plan.turns)": plan.turns is False,
        "a database within the load engine serves one engine at a time": in_process,
        "there is one option": len(options) < 2,
        f"{kind.name} does not support turns"
        + (f": {why}" if (why := kind.why_no_turns) else ""): not kind.turns,
        "a number of transactions ends each run (plan.transactions)": plan.transactions is not None,
        "rounds of queries are longer than a turn": any(workload.in_rounds for workload in workloads),
        "a capture is played as a whole": any(not w.steady and not w.in_rounds for w in workloads),
        f"{pauses} longer than a turn": bool(pauses),
        "requests that arrive at a rate would wait for the next turn": any(w.open_loop for w in workloads),
        "many statement texts, or statements left open, fill caches that options would share": any(
            workload.fills for workload in workloads
        ),
        "the kernel's probes watch one option at a time (probes)": study.probes.requested,
    }
    yield from (reason for reason, holds in reasons.items() if holds)
    for key in sorted({key for option in options for key in option.host}):
        if key in ("server.cpu_quota", "engine.cpu_quota"):
            yield f"{key} counts in periods of 100 ms, and a role that waits for its turn saves its share"
        elif len({option.host.get(key) for option in options}) > 1 and (why := lasting(key)):
            yield f"{key} differs between options and {why}"
    number = len(set(servers_of(study, options).values()))
    if number > _SERVERS_MAX:
        yield f"more than {_SERVERS_MAX} servers would be up at the same time"
    elif number > 1:
        need, free = room_of_servers(study, options), free or free_room(Path(tempfile.gettempdir()))
        enough = _SHARE_MAX * free.memory_bytes, _SHARE_MAX * free.disk_bytes
        if need.memory_bytes > enough[0] or need.disk_bytes > enough[1]:
            yield f"{number} servers at the same time need {need}, and {free} are free"
