"""A simulated machine under Solaris dispatch tables: CPUs, caches, memory latency, tables as settings.

Seconds are simulated, so monitors cannot be used: the simulation has its own counters. Blocks are seeds,
and within a block every option gets the same bursts and sleeps.
"""

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard import _core
from steelyard.errors import InputError, nearest
from steelyard.study.factors import located_at, settings_given
from steelyard.study.host_settings import cpus_of
from steelyard.study.key_types import Setting, SettingTable
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.threads import ThreadsWorkload
from steelyard.subjects import NO_SERVER, Kind, Load, Subject

_BUILT_IN = ("standard", "extended")
_COLUMNS = {
    "TS": ("quantum_ms", "tqexp", "slpret", "maxwait_s", "lwait"),
    "RT": ("quantum_ms",),
    "FX": ("quantum_ms",),
}
_COLUMNS["IA"] = _COLUMNS["TS"]


@dataclass(frozen=True)
class DispatchTable:
    """A valid table. text: as dispadmin prints it on a machine of the given hz."""

    name: str
    class_name: str
    text: str

    def levels(self) -> list[dict[str, float]]:
        """The columns of each level, from level 0 on: quantum_ms, and for TS and IA tqexp and others."""
        (resolution,), *rows = filter(
            None, (line.partition("#")[0].split() for line in self.text.splitlines())
        )
        per_s = int(resolution.removeprefix("RES="))
        levels = [
            dict[str, float](zip(_COLUMNS[self.class_name], map(int, row), strict=True)) for row in rows
        ]
        for level in levels if per_s != 1000 else ():
            level["quantum_ms"] = level["quantum_ms"] * 1000 / per_s
        return levels


def read_table(name: str, class_name: str = "TS", hz: int = 100) -> DispatchTable:
    """The built-in table of that name, else the file. class_name: TS, IA, RT or FX.

    Raises InputError for a missing file, or with file, line and cause for an error in it.
    """
    built_in = name in _BUILT_IN[: 2 if class_name in ("TS", "IA") else 1]
    given = name if built_in else _text(name, class_name)
    try:
        return DispatchTable(name, class_name, _core.dispatch_table(class_name, given, hz))
    except _core.TableError as error:
        line, cause = error.args
        hint = f"`steelyard dispatch standard --class {class_name}` prints a table to start from"
        raise InputError(f"{name}:{line}: {cause}", hint) from None


def _text(name: str, class_name: str) -> str:
    known = " and extended" if class_name in ("TS", "IA") else ""
    hint = f"built-in for {class_name}: standard{known}; else a file in the format of `dispadmin -g`"
    try:
        return Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{name}: not a text file", hint) from None
    except OSError as error:
        raise InputError(f"no dispatch table {name}: {error.strerror}", hint) from None


_NEEDED = ("cpus", "clock_ghz", "memory_latency_ns", "cache_kib")
_MACHINE = (
    *_NEEDED, "cpus_per_chip", "lgroups", "remote_latency_ns", "line_bytes", "mlp", "switch_cycles",
    "ast_delay_us", "nosteal_us", "rechoose_ticks",
)  # fmt: skip
_CLOCK = ("hz", "update_s")
_TABLES = {"table": "TS", "rt_table": "RT", "fx_table": "FX"}
_TRACE = ("trace_threads", "trace_s")
_SET = "set."
_CHECK_S, _TRIAL_S = 1e-3, 1.0  # simulated
_START_S = 0.7  # of the engine's process
_KNOWN = (*_MACHINE, *_CLOCK, *_TABLES, *_TRACE)


def check(study: Study, options: Options) -> None:
    """Settings of a machine, each table read, and each option's plan. Raises InputError."""
    for key in ("monitors", "host"):
        if getattr(study, key):
            raise InputError(
                "a simulated machine has its own clock: monitors and host settings do not act on it",
                "leave it out",
                (key,),
            )
    for at, key, value in settings_given(study, "server"):
        if key not in _KNOWN and not key.startswith(_SET):
            known = nearest(key, (*_KNOWN, "set.NAME"))
            raise InputError(f'a simulated machine has no setting "{key}"{known}', at=at)
        with located_at(at):
            _read(key, value)
    for option in options:
        missing = [key for key in _NEEDED if key not in _settings(option)]
        if missing:
            raise InputError(
                f"the machine needs {', '.join(missing)}", f"{missing[0]} = ...", ("subject", "settings")
            )
        try:
            for clients in (min(study.plan.clients), max(study.plan.clients)):
                _try(option, clients, _CHECK_S)
        except _core.PlanError as error:
            raise InputError(
                f"option {option.label}: {error}",
                "change the setting, or leave the combination out with [[exclude]]",
                ("factors",),
            ) from None


class Dispatcher(Subject):
    """A plan for the dispatch engine; each run is a simulation from the beginning."""

    def start(self, option: Option) -> Load:
        """The option's machine, tables and threads."""
        settings = _settings(option)
        return Load(
            "dispatch",
            _plan(option),
            own_clock=True,
            limit_s=math.inf,
            facts={
                "version": "simulated machine",
                "simulated_cpus": settings["cpus"],
                "settings": settings,
                "sources": dict.fromkeys(settings, "study"),
            },
        )


def _read(key: str, value: Setting) -> Any:
    """A setting in the engine's format. Raises ValueError, and InputError for a table."""
    if key in _TABLES:
        table = read_table(str(value), _TABLES[key])
        return table.name if key == "table" and table.name in _BUILT_IN else table.text
    if key == "trace_threads":
        return [name.strip() for name in str(value).split(",")]
    if key.startswith(_SET):
        return sorted(cpus_of(str(value)))
    if isinstance(value, str | bool):
        raise ValueError(f"{key} is a number (given: {value!r})")
    return value


def _settings(option: Option) -> SettingTable:
    return {"table": "standard", **option.server}


def _plan(option: Option) -> dict[str, Any]:
    workload = option.workload
    assert isinstance(workload, ThreadsWorkload)
    settings = {key: _read(key, value) for key, value in _settings(option).items()}
    groups = workload.model_dump(exclude_none=True)["groups"]
    return {
        "machine": {key: settings[key] for key in _MACHINE if key in settings},
        "sets": {k.removeprefix(_SET): cpus for k, cpus in settings.items() if k.startswith(_SET)},
        "tables": {of.lower(): settings[key] for key, of in _TABLES.items() if key in settings},
        **{key: settings[key] for key in _CLOCK if key in settings},
        "groups": [{"name": name, "count": 1, **keys} for name, keys in groups.items()],
        "scaled": workload.scaled,
        "trace": {"threads": settings.get("trace_threads", []), "window_s": settings.get("trace_s", 2)},
    }


def _try(option: Option, clients: int, measure_s: float) -> None:
    """Simulates a short time: the engine's check rejects such a plan like the whole one."""
    plan = _plan(option)
    groups: Sequence[Mapping[str, Any]] = plan["groups"]
    counted = [{**g, "count": clients} if g["name"] == plan["scaled"] else g for g in groups]
    trace = {"threads": plan["trace"]["threads"], "to_s": plan["trace"]["window_s"]}
    del plan["scaled"]
    trial = {**plan, "groups": counted, "trace": trace, "warm_up_s": 0, "measure_s": measure_s, "seed": 0}
    _core.dispatch_run(json.dumps(trial), lambda _: None)


def _run_s(study: Study, options: Options) -> float:
    """Real time of a run, from short simulations of the first and the last option."""
    plan = study.plan
    ends = [
        (option, clients)
        for option in (options[0], options[-1])
        for clients in (min(plan.clients), max(plan.clients))
    ]
    started = time.perf_counter()
    for option, clients in ends:
        _try(option, clients, _TRIAL_S)
    per_s = (time.perf_counter() - started) / (len(ends) * _TRIAL_S)
    return _START_S + per_s * len(plan.clients) * (plan.warm_up_s + plan.measure_s)


KIND = Kind(
    "a simulated machine",
    make=lambda _bench: Dispatcher(),
    check=check,
    takes=(ThreadsWorkload,),
    lacks=NO_SERVER,
    scopes={"server": "the machine and its tables", "client": "the threads"},
    monitors=(),
    run_s=_run_s,
)
