"""Which option of a bundle is which of another: by name, a single one of each, or as the user says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.bundle.evidence.evidence import Evidence
from steelyard.bundle.evidence.queries import renamed
from steelyard.study.errors import InputError

Named = tuple[str, Evidence, Mapping[str, Any]]
"""A bundle: name, evidence, environment."""


def paired(named: Sequence[Named], names: Mapping[str, str]) -> list[Named]:
    """The bundles, the first as it is, the others with its names of options. names: of the first, by theirs.

    A single option of each is the same without a name. Raises InputError: an option that is in none of them,
    two with one name.
    """
    here, *others = named
    theirs = {label for other in others for label in _labels(other)}
    for label, own in names.items():
        if label not in theirs or own not in _labels(here):
            hint = f"options here: {', '.join(_labels(here))}; there: {', '.join(sorted(theirs))}"
            raise InputError(f"--as {label}={own}: no such option", hint)
    return [here, *(_paired(here, other, names) for other in others)]


def _labels(bundle: Named) -> list[str]:
    return [option.label for option in bundle[1].options]


def _paired(here: Named, there: Named, names: Mapping[str, str]) -> Named:
    labels, others = _labels(here), _labels(there)
    if not names and len(labels) == len(others) == 1:
        names = {others[0]: labels[0]}
    if len({names.get(label, label) for label in others}) < len(others):
        raise InputError(f"{there[0]}: --as gives two options one name", f"its options: {', '.join(others)}")
    name, evidence, environment = there
    servers = {names.get(label, label): facts for label, facts in environment.get("servers", {}).items()}
    pairs = {own: label for label, own in names.items() if label in others and label != own}
    return name, _renamed(evidence, names), {**environment, "servers": servers, "paired": pairs}


def refuse_without_pairs(here: Named, there: Named, found: bool) -> None:
    """Raises InputError where nothing was compared: found is false."""
    if found:
        return
    labels, others = _labels(here), _labels(there)
    if both := [label for label in labels if label in others]:
        text = f"no figure of {', '.join(both)} was measured in both, at the same number of clients"
        raise InputError(f"nothing to compare: {text}", "steelyard report BUNDLE shows the figures of each")
    text = f"{', '.join(labels)} only in {here[0]}, {', '.join(others)} only in {there[0]}"
    raise InputError(
        f"nothing to compare: {text}",
        f"which option there is which here: --as {others[0]}={labels[0]}",
    )


def _renamed(evidence: Evidence, names: Mapping[str, str]) -> Evidence:
    return replace(
        evidence,
        options=tuple(replace(one, label=names.get(one.label, one.label)) for one in evidence.options),
        baseline=names.get(evidence.baseline, evidence.baseline),
        tables=renamed(evidence.tables, names),
    )
