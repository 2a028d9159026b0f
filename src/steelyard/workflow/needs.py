"""What a study needs, how long it takes, and what of its needs this machine lacks."""

import re
from dataclasses import dataclass

from steelyard.errors import InputError
from steelyard.study.load_study import plan_study
from steelyard.study.passwords import in_environment, variables
from steelyard.study.study import Study
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.subjects import kind_of
from steelyard.workflow.prepare import PreparedStudy, expected_s


@dataclass(frozen=True)
class Needs:
    """options: their number. text: the needs, separated by commas. seconds: expected length; None: unknown.

    missing: one sentence per need that this machine does not meet; (): the study can run here.
    """

    options: int
    text: str
    seconds: float | None = None
    missing: tuple[str, ...] = ()


def needs_of(text: str, origin: str) -> Needs:
    """The needs of the study in a text; starts no server. Raises InputError for a wrong study."""
    study, options = plan_study(text, origin)
    needs = ", ".join(_needs(study, any(option.host for option in options)))
    try:
        prepared = PreparedStudy.of(text, origin)
        unset = [name for name in sorted(variables(study)) if in_environment(name) is None]
    except InputError as error:
        # the place in the study file says nothing to a reader of the list
        cause = re.sub(rf"^{re.escape(origin)}:\d+: \S+: ", "", str(error))
        return Needs(len(options), needs, missing=(f"{cause} ({error.hint})" if error.hint else cause,))
    missing = (*prepared.refused, *(f"the environment variable {name} is not set" for name in unset))
    return Needs(len(options), needs, expected_s(prepared), missing)


def _needs(study: Study, host: bool) -> list[str]:
    needs = [_program(study)]
    if host:
        needs.append("host settings")
    probes = study.probes
    if probes.profile_hz or probes.locks or probes.scheduling_trace_s or probes.latch_count_s:
        needs.append("kernel probes")
    return needs


def _program(study: Study) -> str:
    """The program to install, or an address; `nothing` where the lab itself holds the subject."""
    if isinstance(study.workload, ProgramWorkload):
        return study.workload.command[0]
    if study.subject.dsn is not None:
        return "an address"
    kind = kind_of(study)
    return "nothing" if "bindir" in kind.lacks else kind.name
