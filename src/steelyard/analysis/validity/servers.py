"""Servers of options that differ in what their data directory was made with, beside the factors."""

from __future__ import annotations

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import listed
from steelyard.study.factors import settings_of

# a key of the study makes it the same
_MENDED_BY = {"data_checksums": 'data_checksums = "on" under [subject] makes them the same'}


def server_notices(evidence: Evidence) -> list[Notice]:
    """server-differs: `differs beside the factor: data checksums on under V18, off under V15`."""
    text = unlike_servers(evidence)
    return [Notice("server-differs", f"differs beside the factor: {text}")] if text else []


def unlike_servers(evidence: Evidence) -> str:
    """`data checksums on under V18, off under V15 (the servers' own defaults ...)`, and what mends it."""
    levels = {
        setting
        for name, factor in evidence.study.factors.items()
        for settings in settings_of(name, factor).values()
        for setting in settings
    }
    values: dict[str, dict[str, list[str]]] = {}
    for option, facts in evidence.fixed.items():
        for name, value in facts.items():
            values.setdefault(name, {}).setdefault(value, []).append(option)
    unlike = {name: found for name, found in values.items() if len(found) > 1 and name not in levels}
    parts = [
        f"{name.replace('_', ' ')} "
        + ", ".join(f"{value} under {listed(options)}" for value, options in found.items())
        for name, found in unlike.items()
    ]
    mended = [_MENDED_BY[name] for name in unlike if name in _MENDED_BY]
    return "; ".join([f"{listed(parts)} (the servers' own defaults for new data)", *mended]) if parts else ""
