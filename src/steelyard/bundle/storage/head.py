"""The files beside the runs: bundle.json, environment.json, study.toml, verified as far as they are read."""

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from steelyard.bundle.storage.checksum import Json, proven, read_bytes, read_object
from steelyard.declared_metrics import DeclaredMetric
from steelyard.errors import InputError
from steelyard.run_tables.schema import FORMAT_VERSION

_WHICH = "give the folder that `steelyard run` printed"
_LOST = "take this file from a copy of the bundle: the results cannot be read without it"
_Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Hashable = str | int


def read_facts(path: Path) -> Json:
    """bundle.json. Raises InputError when it is missing, damaged, or of another format."""
    place = path / "bundle.json"
    with suppress(OSError, ValueError):
        if not place.exists():
            raise InputError(f"{path}: not a bundle: it has no bundle.json", _WHICH)
    facts = read_object(place, _WHICH)
    number = facts.get("format")
    if not isinstance(number, int) or number < 1:
        raise InputError(f"{place}: not a bundle: it has no format number", _WHICH)
    if number > FORMAT_VERSION:
        raise InputError(
            f"{path}: written by steelyard {facts.get('steelyard')}, in a newer format",
            "use that version or a newer one",
        )
    if number < FORMAT_VERSION:
        raise InputError(
            f"{path}: written in format {number}, before the first release; this version reads format"
            f" {FORMAT_VERSION}",
            "run the study again, or read the tables: they are Parquet files",
        )
    facts = proven(facts, place, _LOST)
    _check(_HeadShape, facts, place)
    labels = [option["label"] for option in facts["options"]]
    if len(set(labels)) < len(labels) or facts["baseline"] not in labels:
        raise InputError(f"{place}: options: two labels are equal, or the baseline is none of them", _LOST)
    return facts


def read_environment(path: Path) -> Json:
    """environment.json. Raises InputError when it is missing or damaged."""
    place = path / "environment.json"
    environment = proven(read_object(place, _LOST), place, _LOST)
    _check(_EnvironmentShape, environment, place)
    return environment


def study_sha256(content: bytes) -> str:
    """Checksum of the study's text."""
    return hashlib.sha256(content).hexdigest()


def read_study(path: Path, facts: Json) -> str:
    """The text of study.toml. Raises InputError when it is missing or edited."""
    place = path / "study.toml"
    content = read_bytes(place, _LOST)
    if study_sha256(content) != facts["study_sha256"]:
        raise InputError(f"{place}: edited since the start of the study, or damaged", _LOST)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8: {error}", _LOST) from None


def _check(shape: type[BaseModel], content: Json, place: Path) -> None:
    try:
        shape.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{place}: {where}: {first['msg']}", _LOST) from None


class _Loose(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Option(_Loose):
    label: str
    levels: dict[str, str]


class _File(_Loose):
    copied_to: str = Field(alias="copy", pattern=r"^(files/[^/]+)?$")
    sha256: str


class _HeadShape(_Loose):
    """bundle.json."""

    steelyard: str
    baseline: str
    options: list[_Option] = Field(min_length=1)
    id: str = Field(min_length=1)
    study_sha256: str
    files: dict[str, _File] = {}


class _Place(_Loose):
    cpu: int
    core: _Hashable
    package: _Hashable


class _Cpus(_Loose):
    """Of the machine, and of a simulated server."""

    simulated_cpus: _Count | None = None
    cores: _Count | None = None
    cpus_usable: _Count | None = None
    cpus_online: _Count | None = None
    topology: list[_Place] = []


class _Placement(_Loose):
    server_cpus: list[int]
    engine_cpus: list[int]
    apart: bool = False


class _Server(_Loose):
    version: str
    set: Json
    guest: Json = {}
    schema_: dict[str, float] = Field(default={}, alias="schema")


class _Kernel(_Loose):
    release: Any
    cmdline: Any
    clock_source: Any
    preemption: Any


class _Boot(_Loose):
    kernel: _Kernel
    settings: Json


class _Reboot(_Loose):
    wanted: Json
    boot_id: Any


class _Wake(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    asleep_ns: float
    wake_ns: float
    post_ns: float
    slept: float = 1.0


class _Pauses(_Loose):
    common: Annotated[float, Field(ge=0, le=1)] = 0.0
    pause_ns: float = 0.0


class _Calibration(_Loose):
    spin_turn_ns: float | None = None
    hand_over_ns: float = 0.0
    wake_up_ns: float = 0.0
    wake_up_same_cpu_ns: float = 0.0
    wakes: list[_Wake] = []
    pauses: _Pauses | None = None
    cpus: list[int] = []
    cpus_share: str = ""


class _Sizes(_Loose):
    """Of any group of facts."""

    total_bytes: float = 0
    available_bytes: float = 0
    swap_total_bytes: float = 0
    cgroup_memory_limit_bytes: float = 0
    free_bytes: float = 0


class _Metrics(RootModel[dict[str, list[DeclaredMetric]]]):
    # strict would want the dataclasses themselves
    model_config = ConfigDict(strict=False)


class _EnvironmentShape(_Loose):
    """environment.json."""

    metrics: _Metrics
    cpu: _Cpus = _Cpus()
    placement: _Placement = _Placement(server_cpus=[], engine_cpus=[])
    server: _Cpus = _Cpus()
    servers: dict[str, _Server] = {}
    boots: list[_Boot] = []
    reboots: list[_Reboot] = []
    calibration: _Calibration = _Calibration()
    memory: _Sizes = _Sizes()
    virtualization: _Sizes = _Sizes()
    storage: _Sizes = _Sizes()
    study: dict[str, str] = {}
    programs: Annotated[list[dict[str, str]], Field(min_length=1)] = [{}]
    kernel: Json = {}
    mitigations: Json = {}
    steelyard: Json = {}
