"""Any program that reports a score: N instances at once, left to the scheduler or one processor set each.

It has no server: the engine `programs` starts the instances and reads their scores. Processes that an
instance starts inherit a mark, and are ended with the run, also after a failure.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

from steelyard.errors import InputError, nearest
from steelyard.host.processes.process_mark import VARIABLE, Mark, imprint, with_mark
from steelyard.study.factors import settings_given
from steelyard.study.key_types import Settings, SettingTable
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.program import FILLED, ProgramWorkload, better_by, filled, names_in
from steelyard.subjects import NO_SERVER, Bench, Kind, Load, Subject, SubjectFailed

_PLACEMENTS = ("default", "set")
_DEFAULTS: Settings = {"placement": "default", "share": False}
# longer than the kept part: secrets are removed before the end is cut out
_TAIL_BYTES = 64_000

_CPUS = Path("/sys/devices/system/cpu")


def check(study: Study, options: Options) -> None:
    """Checks that programs are installed, settings known, and instances fit. Raises InputError."""
    for at, key, value in settings_given(study, "server"):
        if key not in _DEFAULTS:
            raise InputError(f'no setting "{key}" of a program{nearest(key, _DEFAULTS)}', at=at)
        if key == "placement" and value not in _PLACEMENTS:
            raise InputError(f'unknown placement "{value}"{nearest(str(value), _PLACEMENTS)}', at=at)
        if key == "share" and not isinstance(value, bool):
            raise InputError(f"share is true or false (given: {value!r})", at=at)
    for option in options:
        _check_fit(study, option)
        workload = _program(option)
        _check_programs(workload)
        for at, unit, better in (
            ((), workload.score_unit, workload.better),
            *((("scores", name), each.unit, each.better) for name, each in workload.scores.items()),
        ):
            if not (better or better_by(unit)):
                raise InputError(
                    f'unit "{unit}" is neither a time nor a rate: nothing says which score wins',
                    'add better = "higher" or better = "lower"',
                    ("workload", *at, "unit"),
                )
    if "share" in study.subject.settings and all(_settings(o)["placement"] != "set" for o in options):
        raise InputError(
            "has no effect: no option has placement 'set'", "leave it out", ("subject", "settings", "share")
        )


class Command(Subject):
    """Plans the instances of each run and their CPUs."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._mark = Mark()
        self._promise = 0
        self._prepared = False
        self._outputs = bench.folder / "outputs"

    def start(self, option: Option) -> Load:
        """The plan of the instances; the first call runs the study's `prepare`."""
        self._mark = Mark()
        self._promise = self._bench.guard.stop_marked(self._mark)
        shutil.rmtree(self._outputs, ignore_errors=True)
        self._outputs.mkdir()
        workload = _program(option)
        if not self._prepared:
            self._prepare(workload)
            self._prepared = True
        program = self._found(workload.command[0])
        plan = workload.model_dump(include={"score", "scores", "time", "exit_code", "deadline_s"})
        plan["unit"] = workload.score_unit
        points = [self._instances(workload, option, number) for number in self._bench.study.plan.clients]
        return Load(
            engine="programs",
            plan={**plan, "instances": points, "outputs": str(self._outputs)},
            facts={
                "version": program,
                "settings": _settings(option),
                "sources": dict.fromkeys(option.server, "study"),
            },
        )

    def stop(self) -> str:
        """Ends processes that the instances left running; returns the end of their output."""
        if not self._promise:
            return ""
        self._bench.guard.undo(self._promise)
        self._promise = 0
        return "".join(
            f"==> {place.name}\n{tail}\n"
            for place in sorted(self._outputs.iterdir())
            if (tail := _end_of(place.read_bytes()))
        )

    def _instances(self, workload: ProgramWorkload, option: Option, number: int) -> list[dict[str, Any]]:
        plan = self._bench.study.plan
        places = self._bench.placement
        cpus = places.server | places.engine
        apart = _settings(option)["placement"] == "set"
        sets = divide(cpus, number) if apart else [cpus] * number
        found: list[dict[str, Any]] = []
        for instance, own in enumerate(sets):
            values = {
                **self._folders(),
                **workload.variables,
                "instance": instance,
                "instances": number,
                "cpus": len(own),
                "seconds": f"{plan.measure_s:g}",
                "warm_up_seconds": f"{plan.warm_up_s:g}",
            }
            folder = self._beside(filled(workload.folder, values))
            if folder.is_relative_to(self._bench.folder):
                folder.mkdir(parents=True, exist_ok=True)
            if not folder.is_dir():
                raise SubjectFailed(f"workload.folder: {folder}: no such folder")
            variables = {name: filled(str(text), values) for name, text in workload.environment.items()}
            command = [filled(word, values) for word in workload.command]
            found.append(
                {
                    "command": [self._found(command[0]), *command[1:]],
                    "environment": {**variables, VARIABLE: self._mark.value},
                    "folder": str(folder),
                    "cpus": sorted(own) if apart else [],
                }
            )
        return found

    def _prepare(self, workload: ProgramWorkload) -> None:
        if not workload.prepare:
            return
        known = self._folders()
        command = [filled(word, known) for word in workload.prepare]
        # no run withdraws this promise: the guard keeps it at the end of the study
        mark = Mark()
        self._bench.guard.stop_marked(mark)
        # only the variables that are the same for all instances and options
        variables = {
            name: filled(str(text), known)
            for name, text in workload.environment.items()
            if names_in(str(text)) <= known.keys()
        }
        # not a pipe: a process that `prepare` leaves running would hold it open
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    command,
                    cwd=self._beside(
                        filled(workload.folder, known) if names_in(workload.folder) <= {*known} else "."
                    ),
                    env={**with_mark(mark.value), **variables},
                    preexec_fn=lambda: imprint(mark.value),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=workload.deadline_s,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                late = f"not finished after {workload.deadline_s:g} s"
                raise SubjectFailed(f"workload.prepare: {late}") from None
            except OSError as error:
                raise SubjectFailed(f"workload.prepare: {command[0]}: {error.strerror}") from None
            if done.returncode:
                output.seek(0)
                tail = _end_of(output.read())
                raise SubjectFailed(f"workload.prepare ended with exit code {done.returncode}: {tail}")

    def _folders(self) -> Settings:
        return {
            "study": str(self._bench.study_folder.absolute()),
            "scratch": str(self._bench.folder),
            "programs": str(resources.files("steelyard.catalog") / "programs"),
        }

    def _beside(self, path: str) -> Path:
        return (self._bench.study_folder / path).absolute()

    def _found(self, program: str) -> str:
        """The full path of a program, which does not depend on the instances' working folder."""
        path = shutil.which(str(self._beside(program)) if "/" in program else program)
        if path is None:
            where = f" in {self._bench.study_folder.absolute()}" if "/" in program else ""
            raise InputError(f'program "{program}" not found{where}', at=("workload", "command"))
        return path


def _program(option: Option) -> ProgramWorkload:
    assert isinstance(option.workload, ProgramWorkload)
    return option.workload


def _settings(option: Option) -> SettingTable:
    return {**_DEFAULTS, **option.server}


def _check_fit(study: Study, option: Option) -> None:
    settings = _settings(option)
    cpus, instances = len(os.sched_getaffinity(0)), max(study.plan.clients)
    if settings["placement"] == "set" and instances > cpus and not settings["share"]:
        raise InputError(
            f"option {option.label}: {instances} instances cannot have a processor set each: CPUs: {cpus}",
            "fewer clients, or subject.settings.share = true: then instances share CPUs",
            ("plan", "clients"),
        )


def _check_programs(workload: ProgramWorkload) -> None:
    for key, command in (("command", workload.command), ("prepare", workload.prepare)):
        # variables that the lab fills in are unknown yet, and results of `prepare` do not exist
        if not command or names_in(command[0]) & {*FILLED}:
            continue
        program = filled(command[0], workload.variables)
        # where the folder of the study file is, is known at its start
        if "/" in program and not Path(program).is_absolute():
            continue
        if not shutil.which(program):
            raise InputError(
                f'program "{program}" not found', workload.install or "install it", ("workload", key)
            )


def _end_of(text: bytes) -> str:
    return text[-_TAIL_BYTES:].decode(errors="replace").strip()


def divide(cpus: Iterable[int], instances: int) -> list[frozenset[int]]:
    """One set of CPUs per instance, sizes as equal as possible; CPUs of a package stay together.

    With more instances than CPUs, each instance gets one CPU, and some CPUs serve several instances.
    """
    near = sorted(cpus, key=_place)
    if instances > len(near):
        return [frozenset({near[instance % len(near)]}) for instance in range(instances)]
    edges = [len(near) * instance // instances for instance in range(instances + 1)]
    return [frozenset(near[start:end]) for start, end in pairwise(edges)]


def _place(cpu: int) -> tuple[int, int, int]:
    """Package and core: the threads of one core come one after another, whatever their numbers."""
    topology = _CPUS / f"cpu{cpu}" / "topology"
    try:
        package = int((topology / "physical_package_id").read_text())
        return package, int((topology / "core_id").read_text()), cpu
    except (OSError, ValueError):
        return 0, cpu, cpu


KIND = Kind(
    "a program",
    make=Command,
    check=check,
    takes=(ProgramWorkload,),
    not_rehearsed="the program: only a run starts it",
    lacks=NO_SERVER,
    scopes={"server": "placement, share", "client": "variables, env.NAME", "host": "this machine's"},
)
