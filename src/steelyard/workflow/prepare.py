"""A study ready to run: read and checked, its options and runs in order; what it needs and lacks here."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.bundle.storage.study_files import Files, checksum
from steelyard.errors import InputError, nearest
from steelyard.lab.machine.refused_settings import permitted
from steelyard.lab.turns.block import overhead_s
from steelyard.monitors import MONITORS
from steelyard.monitors.sql.queries import queries_of
from steelyard.recordings.published import catalogue as published
from steelyard.study.factors import statements_located
from steelyard.study.files import StudyFiles, named_files, settings_files
from steelyard.study.host_settings import boot_of
from steelyard.study.load_study import located, plan_study
from steelyard.study.passwords import in_environment, variables
from steelyard.study.plan import blocks, check_effects, load_s, redone_blocks_max, with_absent_arguments
from steelyard.study.source import toml_of
from steelyard.study.study import Options, Reboots, Slot, Study
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.subjects import Kind, check, kind_of
from steelyard.subjects.drivers.connection import driven
from steelyard.subjects.in_turns import data_s, why_one_after_another
from steelyard.workloads import work_of
from steelyard.workloads.load_plan import anywhere, check_division, check_load

_NEEDED_TO_SEE = {"host", "processes"}
# to compute the verdict and write the page
_AFTER_S = 6.0

# two JVMs start, and the JVM of the load compiles: 2 to 9 s of warm-up for point lookups
_DRIVER_S = 7.5


@dataclass(frozen=True)
class PreparedStudy:
    """A study ready to run. options: in the order of the study; blocks: all of them, planned.

    one_after_another: why the options of a block do not take turns; '' where they do.
    refused: host settings of the study that this machine refuses, one sentence per setting. files: those
    that the study names, by the name that it gives them, and of settings the text that counts. left_out: a
    sentence per line of a settings file that is the lab's. folder: that of the study file.
    """

    study: Study
    kind: Kind
    text: str
    origin: str
    options: Options
    blocks: Sequence[Sequence[Slot]]
    refused: Sequence[str]
    one_after_another: str
    files: Files
    folder: Path
    left_out: Sequence[str]

    @property
    def boots(self) -> bool:
        """Whether options need this machine booted with kernels or command lines of their own."""
        return not self.kind.boots_itself and any(boot_of(o.host) for o in self.options)

    def programs(self) -> dict[str, str]:
        """Checksum of each file that a command names as seen from the study's folder, by that name."""
        return {
            word: checksum(place)
            for option in self.options
            if isinstance(option.workload, ProgramWorkload)
            for word in option.workload.words
            # a word may be too long for a name, where Path raises
            if os.path.isfile(place := self.folder / word.rpartition("=")[2])  # noqa: PTH113
        }

    @property
    def run_s(self) -> float | None:
        """Typical length of a run; None: only the first run can show it."""
        run_s = expected_run_s(self.study, self.options)
        if run_s is None or self.one_after_another:
            return run_s
        return run_s + len(self.study.plan.clients) * overhead_s(self.study.plan)

    @property
    def redone_blocks_max(self) -> int:
        """How many disturbed blocks are run again, in the whole study."""
        own_servers = isinstance(self.study.workload, ProgramWorkload)
        return redone_blocks_max(self.study.plan, keeps=own_servers or not self.one_after_another)

    @property
    def sees_disturbance(self) -> bool:
        """Whether the lab can see that others took the CPU: two monitors, and a server on this machine."""
        study = self.study
        return set(study.rates_hz or self.kind.monitors) >= _NEEDED_TO_SEE and study.subject.dsn is None

    @classmethod
    def of(cls, text: str, origin: str, files: StudyFiles | None = None) -> "PreparedStudy":
        """Plans the study in a text; origin: its name in messages; files: default: those beside origin.

        Raises InputError.
        """
        files = files or StudyFiles.beside(origin)
        study, found = plan_study(text, origin, files=files)
        with located(text, origin):
            if study.subject.kind == "recording":
                hint = "steelyard report BUNDLE shows it"
                raise InputError("an imported recording cannot be run", hint, ("subject", "kind"))
            kind = kind_of(study)
            somewhere = anywhere(kind.protocol)
            for option in found:
                with statements_located(study, option.label, option.levels):
                    check_load(study, option, work_of(option.workload), somewhere)
            check_effects(study, found)
            queries_of(study)
            for name in study.rates_hz or ():
                if name not in MONITORS:
                    raise InputError(f'no monitor "{name}"{nearest(name, MONITORS)}', at=("monitors", name))
            for name in study.overlay:
                if name not in published():
                    raise InputError(f'no recording "{name}"{nearest(name, published())}', at=("overlay",))
            check(study, found)
            for option in found:
                check_division(study, option, work_of(option.workload), somewhere)
            if not kind.boots_itself:
                found = with_absent_arguments(found)
            found, refused = permitted(study, found)
            order = [*blocks(study, found, not kind.boots_itself)]
            raw = toml_of(text, origin)
            settings = settings_files(raw, files)
            named = {name: files.place(name) for _, name in named_files(raw)}
            named |= {name: one.text for name, one in settings.items()}
            left_out = [line for one in settings.values() for line in one.left_out]
            alone = why_one_after_another(study, found)
            prepared = cls(
                study, kind, text, origin, found, order, refused, alone, named, files.folder, left_out
            )
            if study.plan.disturbed in ("redo", "stop") and not prepared.sees_disturbance:
                raise InputError(
                    "has no effect: disturbed runs are recognised only with the monitors host and processes,"
                    " and a server on this machine",
                    "add both to [monitors], or leave the key out",
                    ("plan", "disturbed"),
                )
            if study.reboots != Reboots() and not prepared.boots:
                raise InputError(
                    "has no effect: no option sets a kernel or a command line", "remove it", ("reboots",)
                )
        return prepared


def expected_s(prepared: PreparedStudy, slowdown: float = 1.0) -> float | None:
    """Expected time to the verdict; None: only the first run can show it.

    slowdown: of making the data and the report, by other work on this machine; the plan fixes the rest.
    """
    run_s = prepared.run_s
    if run_s is None:
        return None
    once_s = data_s(prepared.study, prepared.options, not prepared.one_after_another) + _AFTER_S
    return sum(map(len, prepared.blocks)) * run_s + slowdown * once_s


def expected_run_s(study: Study, options: Options) -> float | None:
    """Typical length of a run; None: only the first run can show it. options: of a study that was checked."""
    kind, plan = kind_of(study), study.plan
    if kind.run_s is not None:
        return kind.run_s(study, options)
    loaded_s = load_s(study, kind.round_s)
    if loaded_s is None or plan.transactions is not None:
        return None
    diagnostic_s = study.probes.scheduling_trace_s + study.probes.latch_count_s
    driven_share = sum(driven(option) is not None for option in options) / len(options)
    set_up_s = kind.set_up_s + driven_share * _DRIVER_S
    return loaded_s + len(plan.clients) * diagnostic_s + plan.cool_down_s + set_up_s


@dataclass(frozen=True)
class _Needs:
    """options: their number. text: the needs, separated by commas. seconds: expected length; None: unknown.

    missing: one sentence per need that this machine does not meet; (): the study can run here.
    """

    options: int
    text: str
    seconds: float | None = None
    missing: tuple[str, ...] = ()


def needs_of(text: str, origin: str) -> _Needs:
    """The needs of the study in a text; starts no server. Raises InputError for a wrong study."""
    study, options = plan_study(text, origin)
    host, probes = any(option.host for option in options), bool(study.probes.sources)
    needs = ", ".join((_program(study), *["host settings"] * host, *["kernel probes"] * probes))
    try:
        prepared = PreparedStudy.of(text, origin)
        unset = [name for name in sorted(variables(study)) if in_environment(name) is None]
    except InputError as error:
        # the place in the study file says nothing to a reader of the list
        cause = re.sub(rf"^{re.escape(origin)}:\d+: \S+: ", "", str(error))
        return _Needs(len(options), needs, missing=(f"{cause} ({error.hint})" if error.hint else cause,))
    missing = (*prepared.refused, *(f"the environment variable {name} is not set" for name in unset))
    return _Needs(len(options), needs, expected_s(prepared), missing)


def _program(study: Study) -> str:
    """The program to install, or an address; `nothing` where the lab itself holds the subject."""
    if isinstance(study.workload, ProgramWorkload):
        return study.workload.command[0]
    if study.subject.dsn is not None:
        return "an address"
    kind = kind_of(study)
    return "nothing" if "bindir" in kind.lacks else kind.name
