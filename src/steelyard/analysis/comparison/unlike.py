"""In what two bundles differ: the work, which must be the same; what is compared; hidden factors. Which
options are the same: by name, a single one of each, or as the user says.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from steelyard.analysis.judgement import Notice
from steelyard.analysis.statistics.distributions import welch
from steelyard.bundle.evidence import Evidence
from steelyard.bundle.evidence.queries import renamed
from steelyard.errors import InputError, brief
from steelyard.quantities import count, listed, significant
from steelyard.study.study import Study
from steelyard.study.workloads.of_files import PgbenchWorkload
from steelyard.study.workloads.published import Answered

SERVER_VERSION = "server.version"
# facts that change results; those of the moment (load, uptime) do not count as hidden factors
FACTS = (
    "cpu.model", "cpu.cpus_usable", "cpu.smt", "cpu.governor", "kernel.release", "kernel.preemption",
    "kernel.clock_source", "mitigations.active", "virtualization.hypervisor", "placement.server_cpus",
    "placement.engine_cpus", SERVER_VERSION, "steelyard.version",
)  # fmt: skip

# where files lie; their texts are compared, and the content of data by its checksum
_PLACES = frozenset(("schema_file", "sql_file", "data_file", "data_directory", "capture"))
# scopes of factors that change the work or its data
_OF_WORK = ("client", "schema")
_LOAD_POINTS = ("clients", "transactions")
# facts of a recording that are its work; all others may be what is compared
_FACTS_OF_WORK = ("transaction type", "scaling factor")
# of a plan: how often and in which order, which needs no mention or has a notice of its own
_NO_DIFFERENCE = (
    *("blocks", "seed", "stop", "baseline", "cool_down_s"),
    *("smallest_effect_percent", "error_rate_limit_percent"),
)

_ROWS = """
    select option, statement, avg(each), list(each) from (
        select option, statement, rows / (execution * clients) as each from marks join runs using (run)
        qualify row_number() over (partition by run, statement order by clients desc, execution desc) = 1
    ) group by all order by all  -- of each run the last execution that most clients reached
"""
_LEAST, _CERTAIN = 0.05, 0.001  # difference of rows that is one, and how sure

Environment = Mapping[str, Mapping[str, Any]]
Named = tuple[str, Evidence, Mapping[str, Any]]
"""A bundle: name, evidence, environment."""


def unlike_facts(
    here: Environment, there: Environment, compared: Collection[str] = ()
) -> list[tuple[str, Any, Any]]:
    """FACTS that differ between two environments, but those compared: name, value in each or 'unknown'."""
    return [
        (re.sub("[._]", " ", fact), "unknown" if a is None else a, "unknown" if b is None else b)
        for fact in FACTS
        if fact not in compared and (a := _known(here, fact)) != (b := _known(there, fact))
    ]


def _known(environment: Environment, fact: str) -> Any:
    part, _, key = fact.partition(".")
    return environment.get(part, {}).get(key)


def unlike_machines(of_here: Named, of_there: Named) -> str:
    """`They differ in 3 things: CPU model, CPUs usable and date.`"""
    unlike = unlike_facts(of_here[2], of_there[2])
    facts = [fact.replace("cpu cpus", "cpus").replace("cpu", "CPU") for fact, _, _ in unlike]
    days = "select distinct started_at[:10] as day from runs order by day"
    facts += ["date"] * (of_here[1].rows(days) != of_there[1].rows(days))
    return f"They differ in {count(len(facts), 'thing')}: {listed(facts)}." if facts else ""


def unlike_work(of_here: Named, of_there: Named) -> Iterator[str]:
    """Where workload, data or load points differ: a sentence each; empty when two bundles can be compared.

    Files are the same where their content is, wherever they lie.
    """
    here, there = of_here[1].study, of_there[1].study
    yield from _unlike("subject", *({"kind": study.subject.kind} for study in (here, there)))
    for name in sorted(here.factors.keys() | there.factors.keys()):
        one, other = here.factors.get(name), there.factors.get(name)
        if one is None or other is None:
            yield f"factors.{name}: only {'here' if one else 'there'}"
        elif {one.scope, other.scope} & {*_OF_WORK} and _content(one.model_dump()) != _content(
            other.model_dump()
        ):
            yield f"factors.{name} differs"
    yield from _unlike("workload", _work(here), _work(there))
    yield from _unlike("workload", of_here[1].data, of_there[1].data)
    yield from (text for fact, text in _unlike_recorded(of_here[2], of_there[2]) if fact in _FACTS_OF_WORK)
    points = (study.plan.model_dump(include={*_LOAD_POINTS}) for study in (here, there))
    yield from _unlike("plan", *points)


def _work(study: Study) -> dict[str, Any]:
    """The workload without the places of its files; scripts of pgbench by their texts."""
    # what a recording says of its tables is no work
    found = _content(study.workload.model_dump(exclude={*Answered.model_fields}))
    if isinstance(study.workload, PgbenchWorkload):
        texts = found.pop("script_texts")
        weighted = map(study.workload.weighted, study.workload.script)
        found["variables"] = study.workload.variables
        found["script"] = [(texts.get(name, name), weight) for name, weight in weighted]
    return found


def _content(value: Any) -> Any:
    """The same without the places of files, in tables within it too."""
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    # a statement may have any name
    return {
        key: _content(part) for key, part in table.items() if key not in _PLACES or isinstance(part, dict)
    }


def differences(here: Study, there: Study, of_here: Environment, of_there: Environment) -> Iterator[str]:
    """What is compared: the server's version and build, settings, and how they were measured."""
    for fact in ("version", "origin"):
        yield from _unlike_servers(fact, of_here, of_there)
    for label, own in of_there.get("paired", {}).items():
        yield f"option: {own} here, {label} there"
    for fact, text in _unlike_recorded(of_here, of_there):
        if fact not in _FACTS_OF_WORK:
            yield text
    for key in ("bindir", "dsn", "durability", "data_checksums"):
        yield from _unlike("subject", *({key: getattr(study.subject, key)} for study in (here, there)))
    for key in ("settings", "session"):
        yield from _unlike(f"subject.{key}", getattr(here.subject, key), getattr(there.subject, key))
    yield from _unlike("host", here.host, there.host)
    for name in sorted(here.factors.keys() & there.factors.keys()):
        one, other = here.factors[name], there.factors[name]
        # the levels of a recording are names alone
        if here.subject.kind != "recording" and not {one.scope, other.scope} & {*_OF_WORK}:
            yield from _unlike(f"factors.{name}", one.model_dump(), other.model_dump())
    plans = (study.plan.model_dump(exclude={*_NO_DIFFERENCE, *_LOAD_POINTS}) for study in (here, there))
    yield from _unlike("plan", *plans)


def _unlike_servers(fact: str, here: Environment, there: Environment) -> Iterator[str]:
    """`server version: 15.18 here, 18.6 there`; by option where not all options differ alike."""
    servers, others = ({"": e.get("server", {}), **e.get("servers", {})} for e in (here, there))
    pairs = {
        option: (str(servers[option].get(fact)), str(others[option].get(fact)))
        for option in servers
        if servers[option].get(fact) and others.get(option, {}).get(fact)
    }
    first = pairs.pop("", None)
    if len(set(pairs.values())) < 2:
        pairs = {"": next(iter(pairs.values()), first)}
    for option, pair in pairs.items():
        if pair and pair[0] != pair[1]:
            yield f"server {fact}{f' under {option}' if option else ''}: {pair[0]} here, {pair[1]} there"


def _unlike_recorded(here: Environment, there: Environment) -> Iterator[tuple[str, str]]:
    """Facts in the files of two recordings that differ, and a sentence each, by option of both."""
    servers, others = here.get("servers", {}), there.get("servers", {})
    for option in sorted(servers.keys() & others.keys()) if "recording" in here else ():
        one, other = servers[option].get("set", {}), others[option].get("set", {})
        for fact in sorted(one.keys() | other.keys()):
            for text in _unlike(option, {fact: one.get(fact)}, {fact: other.get(fact)}):
                yield fact, text


def unlike_plans(here: Study, there: Study) -> list[Notice]:
    """What the same work was measured with, where it was not the same: probes cost a little."""
    one, other = here.probes.model_dump(), there.probes.model_dump()
    blocks = ({"blocks": study.plan.blocks} for study in (here, there))
    return [
        *(Notice("probes-differ", text) for text in _unlike("probes", one, other)),
        *(Notice("blocks-differ", text) for text in _unlike("plan", *blocks)),
    ]


def _unlike(part: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[str]:
    """`subject.settings.shared_buffers: 16MB here, 256MB there` for each key that differs, within tables."""
    for key in {**here, **there}:
        one, other = here.get(key), there.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            tables = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
            yield from _unlike(f"{part}.{key}", *tables)
        elif one != other:
            yield f"{part}.{key}: {_shown(one)} here, {_shown(other)} there"


def _shown(value: Any) -> str:
    return "not set" if value is None else "set" if isinstance(value, dict) else brief(str(value), 60)


def paired(named: Sequence[Named], names: Mapping[str, str]) -> list[Named]:
    """The bundles, the first as it is, the others with its names of options. names: of the first, by theirs.

    A single option of each is the same without a name. Raises InputError: an option that is in none of them,
    two with one name.
    """
    here, *others = named
    theirs = {label for other in others for label in other[1].labels}
    for label, own in names.items():
        if label not in theirs or own not in here[1].labels:
            hint = f"options here: {', '.join(here[1].labels)}; there: {', '.join(sorted(theirs))}"
            raise InputError(f"--as {label}={own}: no such option", hint)
    return [here, *(_paired(here, other, names) for other in others)]


def _paired(here: Named, there: Named, names: Mapping[str, str]) -> Named:
    labels, others = here[1].labels, there[1].labels
    if not names and len(labels) == len(others) == 1:
        names = {others[0]: labels[0]}
    if len({names.get(label, label) for label in others}) < len(others):
        raise InputError(f"{there[0]}: --as gives two options one name", f"its options: {', '.join(others)}")
    name, evidence, environment = there
    servers = {names.get(label, label): facts for label, facts in environment.get("servers", {}).items()}
    pairs = {label: own for label, own in names.items() if label in others and label != own}
    alike = replace(
        evidence,
        options=tuple(replace(one, label=names.get(one.label, one.label)) for one in evidence.options),
        baseline=names.get(evidence.baseline, evidence.baseline),
        tables=renamed(evidence.tables, names),
    )
    return name, alike, {**environment, "servers": servers, "paired": pairs}


def refuse_without_pairs(here: Named, there: Named, found: bool) -> None:
    """Raises InputError where nothing was compared: found is false."""
    if found:
        return
    labels, others = here[1].labels, there[1].labels
    if both := [label for label in labels if label in others]:
        text = f"no figure of {', '.join(both)} was measured in both, at the same number of clients"
        raise InputError(f"nothing to compare: {text}", "steelyard report BUNDLE shows the figures of each")
    text = f"{', '.join(labels)} only in {here[0]}, {', '.join(others)} only in {there[0]}"
    raise InputError(
        f"nothing to compare: {text}", f"which option there is which here: --as {others[0]}={labels[0]}"
    )


def other_rows(here: Evidence, there: Evidence, meant: Collection[str]) -> Iterator[Notice]:
    """Statements that return more rows in one of two, beyond the scatter of blocks. meant: to differ."""
    theirs = {(option, name): values for option, name, *values in there.rows(_ROWS)}
    for option, name, mean, rows in here.rows(_ROWS):
        other, more = theirs.get((option, name), (mean, rows))
        found = welch(np.array(rows), np.array(more))
        certain = found is not None and found.p_value * len(theirs) < _CERTAIN
        if certain and abs(other - mean) > _LEAST * max(mean, other) and name not in meant:
            text = f"not the same work: {name} returns {significant(other)} rows per execution there"
            yield Notice("work-differs", f"{text}, {significant(mean)} here, under {option}", option)
