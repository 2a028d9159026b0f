"""The keys of a bundle's JSON files that the code needs; others are not checked."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from steelyard.declared_metrics import DeclaredMetric

_Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Hashable = str | int


class _Loose(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Option(_Loose):
    label: str
    levels: dict[str, str]


class _File(_Loose):
    copied_to: str = Field(alias="copy", pattern=r"^(files/[^/]+)?$")
    sha256: str


class HeadShape(_Loose):
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


class _Cpu(_Loose):
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
    set: dict[str, Any]
    guest: dict[str, Any] = {}
    schema_: dict[str, float] = Field(default={}, alias="schema")


class _WholeServer(_Loose):
    simulated_cpus: _Count | None = None


class _Kernel(_Loose):
    release: Any
    cmdline: Any
    clock_source: Any
    preemption: Any


class _Boot(_Loose):
    kernel: _Kernel
    settings: dict[str, Any]


class _Reboot(_Loose):
    wanted: dict[str, Any]
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


class _Memory(_Loose):
    total_bytes: float = 0
    available_bytes: float = 0
    swap_total_bytes: float = 0


class _Virtualization(_Loose):
    cgroup_memory_limit_bytes: float = 0


class _Storage(_Loose):
    free_bytes: float = 0


class _Metrics(RootModel[dict[str, list[DeclaredMetric]]]):
    # strict would want the dataclasses themselves
    model_config = ConfigDict(strict=False)


class EnvironmentShape(_Loose):
    """environment.json."""

    metrics: _Metrics
    cpu: _Cpu = _Cpu()
    placement: _Placement = _Placement(server_cpus=[], engine_cpus=[])
    server: _WholeServer = _WholeServer()
    servers: dict[str, _Server] = {}
    boots: list[_Boot] = []
    reboots: list[_Reboot] = []
    calibration: _Calibration = _Calibration()
    memory: _Memory = _Memory()
    virtualization: _Virtualization = _Virtualization()
    storage: _Storage = _Storage()
    study: dict[str, str] = {}
    programs: Annotated[list[dict[str, str]], Field(min_length=1)] = [{}]
    kernel: dict[str, Any] = {}
    mitigations: dict[str, Any] = {}
    steelyard: dict[str, Any] = {}
