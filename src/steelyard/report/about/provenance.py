"""How a bundle was measured, as text by name: plan, machine, kernels, server, engine, monitors."""

import math
from collections.abc import Iterator, Mapping
from typing import cast

from steelyard import quantities as fmt
from steelyard.bundle.evidence import Facts, grouped
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import run_facts
from steelyard.errors import shown
from steelyard.quantities import duration, quantity
from steelyard.report.about import About, FactorFacts, Phases, Texts
from steelyard.study.key_types import Setting
from steelyard.study.plan import differences
from steelyard.study.study import Factor, Study
from steelyard.study.workloads.program import ProgramWorkload

# each row with the facts that make it, in the order of what matters: `group.name` of each, and its text
_ROWS = {
    "CPU": {"cpu.model": "{}", "cpu.architecture": "{}", "cpu.microcode": "microcode {}"},
    "cores": {
        "cpu.cpus_usable": "{} CPU(s) usable",
        "cpu.cpus_online": "{} online",
        "cpu.cores": "{} core(s)",
        "cpu.sockets": "{} socket(s)",
        "cpu.numa_nodes": "{} NUMA node(s)",
        "cpu.smt": "SMT {}",
    },
    "governor": {
        "cpu.governor": "{}",
        "cpu.frequency_driver": "driver {}",
        "cpu.frequency_khz_min": "from {} kHz",
        "cpu.frequency_khz_max": "to {} kHz",
        "cpu.turbo_off": "turbo off: {}",
    },
    "memory": {
        "memory.total_bytes": "{}",
        "memory.available_bytes": "{} available",
        "memory.swap_total_bytes": "swap {}",
        "memory.swappiness": "swappiness {}",
    },
    "huge pages": {
        "memory.transparent_huge_pages": "transparent: {}",
        "memory.transparent_huge_pages_defrag": "defragmented: {}",
        "memory.nr_hugepages": "reserved: {}",
    },
    "virtualisation": {
        "virtualization.machine": "{}",
        "virtualization.container": "in {}",
        "virtualization.vendor": "{}",
        "virtualization.product": "{}",
        "virtualization.cgroup_cpus_limit": "limited to {} CPU(s)",
        "virtualization.cgroup_memory_limit_bytes": "limited to {}",
    },
    "kernel": {"kernel.release": "Linux {}", "kernel.build": "{}"},
    "clock source": {"kernel.clock_source": "{}"},
    "isolated CPUs": {"kernel.isolated_cpus": "{}"},
    "mitigations": {"mitigations.active": "active: {}", "mitigations.vulnerable": "vulnerable: {}"},
    "storage": {
        "storage.filesystem": "{}",
        "storage.device": "on {}",
        "storage.device_scheduler": "scheduler {}",
        "storage.device_write_cache": "{}",
        "storage.free_bytes": "{} free",
        "storage.data_dir": "data in {}",
    },
    "load at start": {
        "load at start.average_1_min": "{} over 1 min",
        "load at start.average_5_min": "{} over 5 min",
        "load at start.cpu_stalled_percent_10_s": "tasks waited for a CPU {} % of 10 s",
    },
    "open files": {"limits.open_files_soft": "{} at most"},
    "Steelyard": {
        "steelyard.version": "{}",
        "steelyard.python": "{}",
        "steelyard.package_git_commit": "commit {}",
        "steelyard.package_git_dirty": "changed since",
    },
    "command line": {"kernel.cmdline": "{}"},
}
_GROUPS = {fact.partition(".")[0] for facts in _ROWS.values() for fact in facts}
_NOT_OF_THE_MACHINE = {"server", "servers", "placement", "study"}


def about_bundle(bundle: Bundle, report: str = "") -> About:
    """How it was measured. report: where the page is."""
    study, plan = bundle.study, bundle.study.plan
    # files recorded elsewhere ran for as long as somebody else planned
    planned = math.nan if study.subject.kind == "recording" else 1.0
    servers = bundle.servers
    in_order = [option["label"] for option in bundle.head["options"] if option["label"] in servers]
    return About(
        name=study.name,
        question=study.question,
        bundle=shown(bundle.path),
        steelyard_version=str(bundle.head["steelyard"]),
        phases=Phases(
            clients=tuple(plan.clients),
            warm_up_s=plan.warm_up_s * planned,
            measure_s=plan.measure_s * planned,
            transactions=plan.transactions,
            own_end=isinstance(study.workload, ProgramWorkload) and not study.workload.takes_seconds,
            cool_down_s=plan.cool_down_s * planned,
            blocks=plan.blocks,
            seed=plan.seed,
        ),
        **run_facts(bundle),
        subject=study.subject.kind,
        point_is=study.workload.point_is,
        points_are=study.workload.points_are,
        work_is=study.workload.work_is,
        who_works=study.workload.WHO,
        server_version=_by_option({label: str(servers[label]["version"]) for label in in_order}),
        kernels=_kernels(bundle),
        schemas={label: _cost(servers[label]["schema"]) for label in in_order if "schema" in servers[label]},
        report=report,
        machine=machine_rows(bundle.environment),
        # where options differ, each value with its options
        server_settings={
            name: _by_option({label: _value(bundle, label, name) for label in in_order})
            for name in sorted({name for label in in_order for name in servers[label]["set"]})
        },
        engine=_engine(bundle),
        factors=_factors(study),
        option_levels={o["label"]: o["levels"] for o in bundle.head["options"]},
        resets_server=not study.subject.dsn,
    )


def _value(bundle: Bundle, label: str, name: str) -> str:
    server = bundle.servers[label]
    if name in server["set"]:
        return str(server["set"][name])
    differs = server.get("differs", {})
    missing = name in differs and differs[name] is None
    first = bundle.environment.get("server", {})
    if not differs and server["version"] == first.get("version"):
        missing = name not in first.get("settings", {name: ""})
    return "not in this version" if missing else "default"


def _by_option(values: Texts) -> str:
    """`on`; `V15: off | V18: on` where options differ, in the order of the study."""
    if len(set(values.values())) < 2:
        return next(iter(values.values()), "")
    options = grouped((value, label) for label, value in values.items())
    return " | ".join(f"{', '.join(labels)}: {value}" for value, labels in options.items())


def _kernels(bundle: Bundle) -> dict[str, str]:
    """What guests report of themselves, by option, and what this machine was booted with, by setting."""
    reported = {label: server["guest"] for label, server in bundle.servers.items() if "guest" in server}
    for boot in bundle.environment.get("boots", ()):
        name = ", ".join(f"{key} = {value}" for key, value in boot["settings"].items())
        facts = ("release", "cmdline", "clock_source", "preemption")
        reported[name] = {key: boot["kernel"][key] for key in facts}
    return {
        name: "; ".join(f"{key.replace('_', ' ')} {fact}" for key, fact in facts.items())
        for name, facts in reported.items()
    }


def _cost(schema: Mapping[str, float]) -> str:
    """`tables 2.25 MB, indexes 1.52 MB; its SQL took 0.13 s`."""
    sizes = [
        f"{name.removesuffix('_bytes')} {quantity(size, 'B')}"
        for name, size in schema.items()
        if name.endswith("_bytes")
    ]
    took = f"; its SQL took {duration(schema['sql_s'])}" if schema["sql_s"] else ""
    return ", ".join(sizes) + took


def _factors(study: Study) -> tuple[FactorFacts, ...]:
    # files recorded elsewhere do not say where a level was set
    recorded = study.subject.kind == "recording"
    return tuple(
        FactorFacts(
            name,
            "" if recorded else factor.scope,
            {code: _shown(factor, code, own) for code, own in differences(name, factor).items()},
        )
        for name, factor in study.factors.items()
    )


def _shown(factor: Factor, code: str, own: Mapping[str, Setting]) -> str:
    """What a code stands for; '' where it stands for itself."""
    level = factor.levels[code]
    if factor.scope == "schema":
        return str(level["sql"] if isinstance(level, Mapping) else level).strip() or "as loaded"
    if isinstance(level, Mapping):
        return ", ".join(f"{key} = {value}" for key, value in own.items())
    text = next(map(str, own.values()), "")
    return "" if text == code else text


def _engine(bundle: Bundle) -> dict[str, str]:
    facts = bundle.study.workload.summary()
    if placement := bundle.environment.get("placement"):
        facts["CPUs of the engine"] = ", ".join(map(str, placement["engine_cpus"]))
        server = "" if bundle.study.subject.dsn else ", ".join(map(str, placement["server_cpus"]))
        facts[f"CPUs of the {bundle.study.workload.WHO}"] = server or "not known: it is at an address"
    return facts


def machine_rows(environment: Facts) -> dict[str, str]:
    """Text by name, in the order to be shown; rows without any fact are left out.

    What a recording tells of its machine in groups of its own follows as it is.
    """
    texts = {name: "; ".join(_facts(environment, facts)) for name, facts in _ROWS.items()}
    for group, facts in environment.items():
        if group not in _NOT_OF_THE_MACHINE and (group not in _GROUPS or not isinstance(facts, Mapping)):
            found = cast(Facts, facts) if isinstance(facts, Mapping) else {"": facts}
            for name, fact in found.items():
                if isinstance(fact, str | int | float):
                    texts[f"{group} {name}".replace("_", " ").strip()] = str(fact)
    return {name: text for name, text in texts.items() if text}


def _facts(environment: Facts, facts: Texts) -> Iterator[str]:
    for place, words in facts.items():
        group, _, name = place.partition(".")
        known = environment.get(group)
        fact = cast(Facts, known).get(name) if isinstance(known, Mapping) else None
        # 0 is a fact, such as no swap; False and what is not known are none
        if fact is None or fact is False or fact == "":
            continue
        text = fmt.quantity(fact, "bytes") if name.endswith("_bytes") else str(fact)
        yield words.replace("(s)", "" if fact == 1 else "s").format(text)
