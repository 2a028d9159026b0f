"""The workload of any program that reports a score: N instances start together, each with its own score."""

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.errors import nearest
from steelyard.quantities import time_unit_ns
from steelyard.study.key_types import Idle, JsonPath, KeyName, Label, Settings, SettingTable, Strict
from steelyard.study.passwords import VARIABLE, from_environment, secret_written
from steelyard.study.workloads.workload import KeyPath, Workload

# variables that the lab fills in
FILLED = ("instance", "instances", "cpus", "seconds", "warm_up_seconds", "study", "scratch", "programs")
_PLACE = re.compile(r"\{\{|\}\}|(?<!\$)\{(\w+)\}|\$\{(\w+)\}")


def filled(text: str, values: Settings) -> str:
    """text with each {name} and ${NAME} replaced by values or environment variables; {{ and }} are braces.

    Raises KeyError; InputError where the environment has no NAME.
    """

    def one(match: re.Match[str]) -> str:
        if match[2]:
            return from_environment(match[2], "workload.environment")
        return str(values[match[1]]) if match[1] else match[0][0]

    return _PLACE.sub(one, text)


def names_in(text: str) -> set[str]:
    """The {names} in a text."""
    return {match[1] for match in _PLACE.finditer(text) if match[1]}


class Reading(Strict):
    """Where the output of a program contains a number; the last match counts."""

    pattern: str | None = None
    """regular expression with one group, for standard output or error"""
    json_path: JsonPath | None = None
    """keys and indices joined by dots, in the JSON on standard output: results.0.score; a key with a dot in
    double quotes: latency."p99.9"
    """

    @field_validator("pattern")
    @classmethod
    def _one_group(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                groups = re.compile(pattern).groups
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"not a regular expression: {error}") from None
            if groups != 1:
                raise ValueError(f"needs exactly one group (...) around the number, has {groups}")
        return pattern

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.pattern is None) == (self.json_path is None):
            raise ValueError("give either pattern or json_path")
        return self


Better = Literal["higher", "lower"]
# rates by name: kIOPS, critical-jOPS, tpmC, Mbps, MIPS; a score
_RATE = r"[kmgt]?(?:(?:max-|critical-)?[iobjfl]*ops|[tqrfbi]+ps|tpm\w?|tpse|score|points)"


def better_by(unit: str) -> Better | None:
    """Which score wins: the lower `ms/op`, the higher `tps`, `MB/s`, `jobs per hour`; None of any other."""
    what, *per = re.split(r" *(?:/| per ) *", unit.lower().strip())
    if time_unit_ns(what):
        return "lower"
    return "higher" if any(map(time_unit_ns, per)) or re.fullmatch(_RATE, what) else None


def lower_is_better(unit: str, better: Better | None) -> bool:
    """Whether the lower score wins: as stated, else where it is a time (`ms`, `ms/op`)."""
    return (better or better_by(unit)) == "lower"


class NamedScore(Reading):
    """One more number that each instance prints."""

    unit: Label = "score"
    """of the number: ms, MiB"""
    better: Better | None = None
    """higher or lower; default: lower where the unit is a time (s, msec, us/op), higher where it is a rate
    (tps, MB/s); required for any other unit"""


class ProgramWorkload(Workload):
    """Instances of a program, one per client of the load point, all started at the same moment."""

    CLIENT = "deadline_s"
    ONLY_IF = dict.fromkeys(("unit", "better", "time"), "score")
    POINT = "instance"
    POINTS = "instances"
    WHO = "program"

    kind: Literal["program"]
    command: list[str] = Field(min_length=1)
    """program and arguments; {instance} (from 0), {instances}, {cpus} (number of its CPUs), {seconds} and
    {warm_up_seconds} (the plan's), {study}, {scratch}, {programs} and the study's own {variables} are filled
    in; {{ is a brace"""
    variables: SettingTable = Field(default_factory=SettingTable)
    """the study's own {variables}, which factors of scope client change"""
    environment: SettingTable = Field(default_factory=SettingTable)
    """variables of each instance, filled in like the command, ${NAME} from the environment of steelyard,
    required for secrets; empty: not set"""
    folder: str = "{study}"
    """working directory, filled in like the command; {study}: the folder of the study file"""
    prepare: list[str] = []
    """run once before the first run (compile, fill a database), with {study}, {scratch}, {programs} and those
    variables that ask for nothing else"""
    score: Reading | None = None
    """the number that is compared; default: the run time of the instance, in s"""
    unit: Label | None = None
    """of the score: bops, tps, ms"""
    better: Better | None = None
    """higher or lower; default: lower where the unit is a time (s, msec, us/op), higher where it is a rate
    (tps, MB/s); required for any other unit"""
    scores: dict[KeyName, NamedScore] = {}
    """further scores by name; p50, p95 and p99 in a unit of time are latencies"""
    time: Reading | None = None
    """run time in seconds in the output; default: from its start to its end"""
    exit_code: int = Field(default=0, ge=0, le=255)
    """with any other the run is void"""
    deadline_s: float = Field(default=600, ge=0.001, le=86_400)
    """an instance that runs longer is killed"""
    install: str = ""
    """command that installs the program, for a hint"""

    @field_validator("environment")
    @classmethod
    def _no_secret(cls, environment: SettingTable) -> SettingTable:
        for name, text in environment.items():
            if secret_written(name, text):
                raise ValueError(
                    f"{name}: a secret in the study would be copied into every bundle; write ${{NAME}} in its"
                    " place and set NAME in the environment"
                )
        return environment

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        for text in (*self.command, *self.prepare, self.folder):
            if VARIABLE.search(text):
                raise ValueError(
                    "${NAME} is filled in under environment only: other users can read a command line;"
                    " for a variable of the shell write ${{NAME}}"
                )
        for name in self.variables:
            if name in FILLED or not re.fullmatch(r"\w+", name):
                raise ValueError(f'variables: invalid name "{name}"; reserved: {", ".join(FILLED)}')
        for key, used, known in (
            ("command", self._used(), {*FILLED, *self.variables}),
            ("prepare", names_in(" ".join(self.prepare)), {"study", "scratch", "programs"}),
        ):
            if unknown := sorted(used - known):
                raise ValueError(f"{key}: unknown {{{unknown[0]}}}{nearest(unknown[0], known)}")
        return self

    def client_settings(self) -> dict[str, KeyPath]:
        """The study's own variables, `env.NAME` for each variable, and the deadline."""
        return {
            **super().client_settings(),
            **{name: ("variables", name) for name in self.variables},
            **{f"env.{name}": ("environment", name) for name in self.environment},
        }

    @property
    def words(self) -> list[str]:
        """Of the commands, as the study fills them in; its folder is `.`."""
        values = {**dict.fromkeys(FILLED, ""), **self.variables, "study": "."}
        return [filled(word, values) for word in (*self.command, *self.prepare)]

    def idle(self) -> Idle:
        """Unused variables."""
        for name in self.variables.keys() - self._used():
            yield ("variables", name), f"neither command, environment nor folder contains {{{name}}}"
        yield from super().idle()

    @property
    def engine_threads(self) -> int:
        """0: the engine starts the instances and waits."""
        return 0

    @property
    def score_unit(self) -> str:
        """Unit of the score: `s` of a run time."""
        return self.unit or ("score" if self.score else "s")

    @property
    def lower_is_better(self) -> bool:
        """Whether the lower score wins."""
        return lower_is_better(self.score_unit, self.better)

    @property
    def longest_s(self) -> float:
        """The deadline of an instance."""
        return self.deadline_s

    def point_s(self, clients: int, warm_up_s: float, measure_s: float, round_s: float) -> float | None:
        """The plan's seconds where the program takes them, else unknown: it runs to its end."""
        if not self.takes_seconds:
            return None
        return measure_s + (warm_up_s if "warm_up_seconds" in self._used() else 0.0)

    @property
    def takes_seconds(self) -> bool:
        """Whether the plan gives the length of a run; otherwise the program runs to its own end."""
        return "seconds" in self._used()

    @property
    def rate_unit(self) -> str:
        """The score's own."""
        return f" {self.score_unit}"

    def summary(self) -> dict[str, str]:
        """The command as it stands, and how its score is found."""
        where = (self.score.json_path or self.score.pattern) if self.score else "run time"
        wins = "lower" if self.lower_is_better else "higher"
        return {
            "workload": " ".join(self.command),
            "score": f"{where} ({self.score_unit}; {wins} is better)",
            **{f"variable {name}": str(value) for name, value in (self.variables | self.environment).items()},
        }

    def _used(self) -> set[str]:
        return names_in(" ".join([*self.command, *map(str, self.environment.values()), self.folder]))
