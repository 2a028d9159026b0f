"""The rehearsal before block 1, and in a dry run: each server, statement, monitor and limit is tried once.

All that is refused is named at once, with the words of the server or the kernel. `rehearse` starts each
distinct server; `statements` sends every statement in every way that an option sends it; `limits` asks server
and machine whether they admit the clients; `findings` keeps what was found.
"""

import resource
import time
from collections.abc import Iterator, Sequence
from functools import partial

from steelyard import _core
from steelyard.errors import InputError
from steelyard.host.processes.limits import TimedOut, within
from steelyard.lab.doctor.permissions import FILES_OF_AN_ENGINE, refused_probes
from steelyard.lab.engines.plan import LIFE_PER_PRIMING
from steelyard.lab.engines.result import LoadFailed
from steelyard.lab.environment.redaction import redact_text
from steelyard.lab.laboratory import readers_of
from steelyard.lab.machine.host_settings import BootNeeded, Host
from steelyard.lab.rehearsal.findings import Findings, Row
from steelyard.lab.rehearsal.same_work import DRAWS, compare
from steelyard.lab.rehearsal.statements import session_key, texts_key, try_statements
from steelyard.lab.run_parts import refuse_inconsistent, root_processes, target_of
from steelyard.monitors import MONITORS, Reader, Target
from steelyard.monitors.sql.queries import queries_of
from steelyard.quantities import significant
from steelyard.study.factors import place_of_setting
from steelyard.study.host_settings import host_settings
from steelyard.study.plan import baseline
from steelyard.study.study import Option, Options
from steelyard.subjects import Bench, Load, SharedSubject, Subject, SubjectFailed, started
from steelyard.subjects.drivers.connection import driven
from steelyard.subjects.in_turns import distinct_servers, servers_of
from steelyard.subjects.rehearsal import accepted
from steelyard.subjects.servers.by_address import written

_MONITOR_S = 10.0

_ANSWER_S = 30.0
_LIMIT = "max_connections"
_OF_THE_MACHINE = "steelyard.monitors.system."
_AT = ("plan", "clients")


def rehearse(bench: Bench, subjects: Sequence[Subject], host: Host | None, in_turns: bool) -> Findings:
    """Tries everything once. Raises InputError for all that is refused.

    subjects: of the runs, whose data it makes. host: of a run, whose settings of the machine are written and
    put back; None: of a dry run.
    """
    began_s = time.monotonic()
    kind, found = bench.kind, Findings()
    found.errors += open_files(bench)
    for option in {host_settings(one.host).files: one for one in reversed(bench.options)}.values():
        _host(bench, option, host, found)
    if asked := bench.study.probes.sources:
        program = kind.latch_program() if "latches" in asked else None
        for probe, why in refused_probes(program).items():
            if probe in asked:
                found.add(bench.options[0], "probe", probe, why, 0)
    if kind.not_rehearsed:
        found.not_tried.append(kind.not_rehearsed)
    elif kind.boots_itself and host is None:
        found.not_tried.append("guests: only a run boots them")
    else:
        options = bench.options
        servers = servers_of(bench.study, options) if in_turns else distinct_servers(options)
        for number in sorted(set(servers.values())):
            options = [option for option in bench.options if servers[option.label] == number]
            _server(bench, subjects[number % len(subjects)], options, host, in_turns, found)
    if found.errors:
        raise InputError(errors=found.refusals())
    compare(bench, found)
    measure_s = bench.study.plan.measure_s
    if in_turns and LIFE_PER_PRIMING * found.priming_s > measure_s:
        found.one_after_another = (
            f"new connections need {significant(found.priming_s)} s until their statements are warm,"
            f" and measure_s = {measure_s:g} has no room for it"
        )
    for option in bench.options:
        for name in written([bench.works[option.label]], kind.protocol):
            found.add(option, "write", name, "", 0)
    for name in sorted(found.wrote):
        found.add(bench.options[0], "write", name, "", 0)
    found.seconds = time.monotonic() - began_s
    return found


def _host(bench: Bench, option: Option, host: Host | None, found: Findings) -> None:
    """Writes the files of an option's host settings and puts them back."""
    names = [name for name, *_ in host_settings(option.host).files]
    why, began_ns = "only a run writes it", time.monotonic_ns()
    try:
        if host is not None:
            host.change(option)
            for name in names:
                found.add(option, "host setting", name, "", time.monotonic_ns() - began_ns)
            return
    except BootNeeded as need:
        why = str(need)
    except SubjectFailed as refusal:
        name = next((name for name in names if f"{name} = " in str(refusal)), names[0])
        at = place_of_setting(bench.study, option.levels, "host", name)
        found.errors.append(InputError(str(refusal), at=at))
        return
    finally:
        if host is not None:
            host.restore()
    found.not_tried += [f"{name} in {option.label}: {why}" for name in names]


def _server(
    bench: Bench, subject: Subject, options: Options, host: Host | None, in_turns: bool, found: Findings
) -> None:
    study, draws = bench.study, 1 if host is None or len(bench.options) == 1 else DRAWS
    tried: dict[str, Sequence[Row]] = {}
    loads: dict[str, Load] = {}

    def start(option: Option) -> Load:
        subject.stop()
        if host is not None:
            host.change(option)
        return started(subject, option)

    try:
        for option in options:
            began_ns, work, session = time.monotonic_ns(), bench.works[option.label], session_key(option)
            if session not in loads:
                load, errors = accepted(start, study, option)
                if load is None and host is None and host_settings(option.host).files:
                    found.not_tried.append(f"server of {option.label}: a run sets the machine for it")
                else:
                    found.errors += errors
                if load is None:
                    break
                if isinstance(subject, SharedSubject):
                    start = subject.join
                loads[session] = load
                found.add(option, "server", options[0].label, "", time.monotonic_ns() - began_ns)
                if not load.own_clock:
                    found.errors += connections(bench, option, load, in_turns)
                    refuse_inconsistent(study, work, load, loaded=True)
                    _monitors(bench, option, load, found)
            if not work.statements:
                continue
            try:
                if (texts := session + texts_key(option, work)) not in tried:
                    tried[texts] = ()
                    tried[texts] = try_statements(bench, option, loads[session], found, draws)
                found.trials[option.label] = tried[texts]
                if draws > 1 and option.label == baseline(study, bench.options):
                    found.again = try_statements(bench, option, loads[session], Findings(), draws)
            except InputError as error:
                found.errors.append(error)
    except BootNeeded as need:
        found.not_tried.append(f"server of {options[0].label}: {need}")
    except (TimedOut, SubjectFailed, LoadFailed, _core.LoadError, *bench.kind.driver_errors) as error:
        found.errors.append(InputError(str(error), at=("subject",)))
    finally:
        subject.stop()
        if host is not None:
            host.restore()


def _monitors(bench: Bench, option: Option, load: Load, found: Findings) -> None:
    """Opens and reads each monitor once. A query of the user's own that cannot be read is an error."""
    study = bench.study
    target = target_of(load, root_processes(load, None), bench.placement.engine)
    for name, (reader, _) in readers_of(study, bench.kind).items():
        began_ns = time.monotonic_ns()
        answer = redact_text(_read(reader, target), study)
        found.add(option, "monitor", name, answer, time.monotonic_ns() - began_ns)
        if answer and name in study.sql_monitors:
            query, given = queries_of(study)[name], study.sql_monitors[name]
            key = next(key for key in ("set", "sql_file", "sql") if getattr(given, key))
            where = f"{query.sql_file}: " if query.sql_file else ""
            text = f"{where}option {option.label}: the query cannot be read: {answer}"
            hint = query.needs and f"the set needs {query.needs}"
            found.errors.append(InputError(text, hint, ("monitors", name, key)))


def _read(reader: Reader, target: Target) -> str:
    """Why a monitor cannot be read; '' where it can."""
    answer = ""
    try:
        within(_MONITOR_S, "connecting", partial(reader.open, target))
        within(_MONITOR_S, "reading", lambda: list(reader.read()))
    except TimedOut as late:
        # its thread goes on with the connection
        return str(late)
    except Exception as reason:
        # also for a bug in a monitor: it must not stop the study
        answer = str(reason)
    reader.close()
    return answer or getattr(reader, "failure", "")


def open_files(bench: Bench) -> Iterator[InputError]:
    """An error where a load engine may not open a file for each client."""
    need = max(bench.study.plan.clients) + FILES_OF_AN_ENGINE
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    own = bench.study.fleet is None and not all(map(driven, bench.options))
    if own and bench.works[bench.options[0].label].statements and need > allowed:
        text = f"the load engine needs {need} open files, and the limit of this shell is {allowed}"
        yield InputError(text, f"ulimit -n {need} (as root above ulimit -Hn), or fewer clients", _AT)


def connections(bench: Bench, option: Option, load: Load, in_turns: bool) -> Iterator[InputError]:
    """An error where clients and monitors need more connections than are left, and options have one limit."""
    server, study, kind = load.server, bench.study, bench.kind
    limited = len({one.server.get(_LIMIT) for one in bench.options}) > 1
    # clients of a pooler wait for a connection
    if server is None or server.number is None or not server.left_sql or server.roles or limited:
        return
    ask, servers = partial(server.number, server.left_sql), servers_of(study, bench.options)
    sharing = list(servers.values()).count(servers[option.label]) if in_turns else 1
    monitors = sum(not MONITORS.get(name, "").startswith(_OF_THE_MACHINE) for name in readers_of(study, kind))
    clients = max(study.plan.clients)
    need = (clients + monitors) * sharing
    for pause_s in (0, 0.5, 1):
        # a session that the rehearsal has just closed counts until the server has ended it
        time.sleep(pause_s)
        try:
            left = within(_ANSWER_S, "asking for connections", ask)
        except (TimedOut, *kind.driver_errors):
            # a server that speaks the protocol may lack the views
            return
        if need <= left:
            return
    own = "" if study.subject.dsn else f", or settings = {{ {_LIMIT} = {need} }} under [subject]"
    yield InputError(
        f"{sharing} x ({clients} clients + {monitors} monitors) need {need} connections;"
        f" the server still admits {left}",
        "fewer clients" + ", plan.turns = false" * (sharing > 1) + own,
        _AT,
    )
