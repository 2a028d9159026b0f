"""Makes the runs of a study on this machine."""

import json
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.study_files import changed_files
from steelyard.errors import InputError, brief, typed
from steelyard.host.cpus.scheduling import Placement, place
from steelyard.host.processes.guard import Guard, GuardLost
from steelyard.lab.engines.process import Place
from steelyard.lab.engines.result import Json, LoadFailed, Say
from steelyard.lab.environment.environment import environment
from steelyard.lab.environment.redaction import redact_text, without_secrets
from steelyard.lab.laboratory import Laboratory, Numbers, Progress
from steelyard.lab.machine.host_settings import Boot, Host
from steelyard.lab.rehearsal import rehearse
from steelyard.lab.rehearsal.findings import Findings
from steelyard.lab.run_parts import Run
from steelyard.lab.runner import StudyFailed, block
from steelyard.study.load_study import fleet_of
from steelyard.study.study import Slot
from steelyard.subjects import Bench, SubjectFailed
from steelyard.subjects.drivers.connection import driven, located
from steelyard.subjects.in_turns import servers_of
from steelyard.subjects.servers.by_address import keeps_data
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workloads import work_of


def _place_of_engines(prepared: PreparedStudy) -> AbstractContextManager[Place]:
    """Where the load engines of a study run, while the context lasts. Raises InputError."""
    fleet = prepared.study.fleet
    if fleet is None:
        return nullcontext(Place())
    workloads = filter(None, map(driven, prepared.options))
    drivers = {located(workload.driver, prepared.folder) for workload in workloads}
    return _of_fleet("place").load_hosts(fleet, prepared.folder / fleet.folder, drivers)


def fleet_up(file: Path, say: Say) -> None:
    """Starts scheduler and workers, and ends them on SIGINT. Raises InputError."""
    fleet = fleet_of(file)
    _of_fleet("up").up(fleet, Path(fleet.folder), say)


def fleet_check(file: Path, as_json: bool) -> None:
    """Prints what was found of the hosts. Raises InputError when they cannot run a study."""
    fleet = fleet_of(file)
    place = _of_fleet("place")
    found = place.checked(fleet, Path(fleet.folder))
    print(json.dumps(found, indent=2) if as_json else place.text(found))


def _of_fleet(module: str) -> ModuleType:
    """A module of the package that needs dask.distributed: the single machine never imports it."""
    try:
        return import_module(f"steelyard.fleet.{module}")
    except ModuleNotFoundError as missing:
        raise InputError(f"[fleet] needs {missing.name}", "pip install 'steelyard[fleet]'") from None


@dataclass(frozen=True)
class Attempt:
    """The state of a block.

    number: of the attempt to continue, 0: none; done: its finished options; void: number of earlier
    attempts that ended with a void run, 0 or 1.
    """

    number: int
    done: frozenset[str] = frozenset()
    void: int = 0


def attempts_of(bundle: Bundle, prepared: PreparedStudy) -> list[tuple[Sequence[Slot], Attempt]]:
    """Each planned block with its state. An interrupted block is run again.

    In a study over boots its attempt is continued, unless one of its runs was void.
    """
    rows = bundle.duckdb.execute(
        "select block, last, coalesce(list(option) filter (attempt = last and status = 'done'), []),"
        " bool_or(attempt = last and status <> 'done'), count(*) filter (status = 'void')"
        " from (select block, attempt, option, status, max(attempt) over (partition by block) as last"
        " from runs) group by block, last"
    ).fetchall()
    found: dict[int, Attempt] = {}
    for number, last, done, failed, void in rows:
        # after two the study fails; a resumed study counts again, since the cause may be gone
        void %= 2
        if not failed and len(done) == len(prepared.options):
            found[number] = Attempt(0)
        elif prepared.boots and not failed:
            found[number] = Attempt(last, frozenset(done), void)
        else:
            found[number] = Attempt(last + 1, void=void)
    return [(slots, found.get(slots[0].block, Attempt(1))) for slots in prepared.blocks]


def refuse_changed(bundle: Bundle, prepared: PreparedStudy) -> None:
    """Raises InputError when the study or its options have changed since the start."""
    if bundle.study_text != prepared.text:
        raise InputError(
            f"{bundle.path}: the study was edited since the start; runs of two studies cannot be mixed",
            "start a new bundle with `steelyard run`, or resume the bundle without naming the study",
        )
    programs = prepared.programs()
    known: Mapping[str, str] = bundle.environment.get("programs", [{}])[-1]
    edited = [name for name in known if programs.get(name) != known[name]]
    if changed := [*changed_files(bundle.head, prepared.files), *edited]:
        raise InputError(
            f"{bundle.path}: {', '.join(changed)} changed since the study began",
            "start it anew with `steelyard run`, or restore programs and resume the bundle without naming the"
            " study",
        )
    labels = [option["label"] for option in bundle.head["options"]]
    if labels != [option.label for option in prepared.options]:
        raise InputError(
            f"{bundle.path}: the options that this machine permits have changed since the start",
            "resume as the same user on the same machine",
        )


def refuse_other_server(path: Path, option: str, facts: Json) -> None:
    """Raises InputError where an option's server differs from that of the finished runs."""
    environment = Bundle(path).environment
    if (then := environment.get("servers", {}).get(option)) is not None:
        refuse_other(path, {**environment, "server": then}, {**environment, "server": facts})


def refuse_other(path: Path, then: Json, now: Json) -> None:
    """Raises InputError where facts have changed."""
    from steelyard.analysis.comparison.unlike import unlike_facts

    if unlike := unlike_facts(then, now):
        differs = "; ".join(f"{fact}: {a} before, {b} now" for fact, a, b in unlike)
        raise InputError(
            f"{path}: new runs would not be comparable with the finished ones: {differs}",
            "restore the original state and resume, or start a new bundle with `steelyard run`"
            " and compare both with `steelyard compare`",
        )


# length of a cause of failure: logs of programs and servers are long
_FAILURE_CHARACTERS_MAX = 2000

_Admit = Callable[[str, Json], None]
# the runs of a block, from an attempt on; third: number of blocks that may still be repeated (lab/runner.py)
Runs = Callable[[Sequence[Slot], Attempt, int], Iterator[Run]]


def dry_rehearsal(prepared: PreparedStudy) -> Findings:
    """What a rehearsal finds on the smallest data; nothing of this machine changes. Raises InputError."""
    options = [replace(option, workload=option.workload.smallest()) for option in prepared.options]
    study = prepared.study.model_copy(update={"workload": prepared.study.workload.smallest()})
    prepared = replace(prepared, study=study, options=options)
    with without_secrets(study), bench_of(prepared) as bench:
        try:
            return rehearse(bench, [bench.kind.make(bench)], None, not prepared.one_after_another)
        except (SubjectFailed, GuardLost, OSError) as error:
            raise InputError(str(error)) from error


def machine_facts(prepared: PreparedStudy) -> Json:
    """Facts of this machine, with the CPUs of server and engine, not those of a server at an address."""
    placement, known = placement_of(prepared), prepared.study.subject.dsn is None
    return {
        **environment(),
        "placement": {
            "server_cpus": sorted(placement.server) if known else [],
            "engine_cpus": sorted(placement.engine),
            "apart": known and placement.apart,
        },
    }


@contextmanager
def runs_of(
    prepared: PreparedStudy,
    progress: Progress,
    admit: _Admit,
    rehearsed: Callable[[Findings], None],
    numbered: int,
) -> Generator[Runs]:
    """Makes runs while the context lasts; then all that was started or changed for them is undone.

    admit: see `Laboratory`; rehearsed: gets what was tried before them; numbered: numbers of sequences that
    earlier runs have drawn. Raises InputError, StudyFailed, BootNeeded.
    """
    study = prepared.study
    with without_secrets(study), _place_of_engines(prepared) as place, bench_of(prepared) as bench:
        kind, taking_turns = prepared.kind, not prepared.one_after_another
        servers = servers_of(study, bench.options) if taking_turns else dict[str, int]()
        subjects = [kind.make(own) for own in _benches(bench, servers)]
        numbers = Numbers(numbered if keeps_data(study) else None)
        host = Host(bench.guard, bench.placement, Boot.now() if prepared.boots else None)

        def runs(slots: Sequence[Slot], attempt: Attempt, redo: int) -> Iterator[Run]:
            laboratory = Laboratory(
                study,
                bench.works,
                kind,
                subjects,
                servers,
                taking_turns,
                bench.placement,
                host,
                progress,
                admit,
                place,
                numbers,
            )
            for run in block(laboratory, slots, attempt.number, attempt.done, attempt.void, redo):
                yield run
                bench.guard.check()
                place.check()

        try:
            try:
                found = rehearse(bench, subjects, host, taking_turns)
                rehearsed(found)
                taking_turns = taking_turns and not found.one_after_another
                if taking_turns and found.wrote:
                    servers = servers_of(study, bench.options, wrote=True)
                    subjects += [kind.make(own) for own in list(_benches(bench, servers))[len(subjects) :]]
                yield runs
            finally:
                for subject in subjects:
                    subject.stop()
                host.restore()
        except (SubjectFailed, GuardLost, LoadFailed, OSError) as error:
            raise StudyFailed(brief(redact_text(str(error), study), _FAILURE_CHARACTERS_MAX)) from error


def _benches(bench: Bench, servers: Mapping[str, int]) -> Iterator[Bench]:
    yield bench
    for number in range(1, max(servers.values(), default=0) + 1):
        # below the first one, which lets the servers' user through
        folder = bench.folder / f"server{number + 1}"
        folder.mkdir(mode=0o700, exist_ok=True)
        yield replace(bench, folder=folder)


@contextmanager
def bench_of(prepared: PreparedStudy) -> Generator[Bench]:
    """The bench of a study while the context lasts; then its folder is removed, and what was started ends."""
    with Guard() as guard:
        folder = Path(tempfile.mkdtemp(prefix="steelyard-"))
        promise = guard.remove_folder(folder)
        options, origin = prepared.options, typed(Path(prepared.origin))
        works = {option.label: work_of(option.workload) for option in options}
        try:
            placed = placement_of(prepared)
            yield Bench(prepared.study, options, works, folder, placed, guard, origin, prepared.folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            guard.forget(promise)


def placement_of(prepared: PreparedStudy) -> Placement:
    """The same for all options: enough CPUs for the option with the most threads."""
    threads = max(option.workload.engine_threads for option in prepared.options)
    return place(0 if prepared.kind.in_process else threads, prepared.study.plan.pin)
