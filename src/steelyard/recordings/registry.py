"""The formats: every module below `formats` that has a title, `sniff` and `read`."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import cast

from steelyard.recordings import formats
from steelyard.recordings.report import Format, Report
from steelyard.recordings.source import Skipped, Source
from steelyard.study.errors import InputError, brief, nearest


@cache
def known_formats() -> dict[str, Format]:
    """Each format by its name, which is its place: `ase/sysmon`."""
    prefix = formats.__name__ + "."
    return {
        module.name.removeprefix(prefix).replace(".", "/"): cast(Format, import_module(module.name))
        for module in pkgutil.walk_packages(formats.__path__, prefix)
        if not module.ispkg and not module.name.rpartition(".")[2].startswith("_")
    }


def formats_of(source: Source) -> list[str]:
    """The names of a source's formats: the one that a schedule chose, else all that know its beginning.

    Raises InputError for an unknown name.
    """
    found = known_formats()
    if chosen := source.choices.get("format"):
        if chosen not in found:
            raise InputError(f'{source.path}: no format "{chosen}"{nearest(chosen, found)}')
        return [chosen]
    head = source.head()
    return [name for name, one in found.items() if one.sniff(head)]


def reports_in(source: Source) -> list[Report]:
    """All reports of a file, in its order.

    Raises InputError for a file that is empty, or of which nothing was understood.
    """
    found: list[Report] = []
    for part in source.sections():
        found += [report for report in _reports(part) if report.understood]
    if found:
        return found
    lines = source.skipped.lines
    if not lines:
        raise InputError(f"{source.path}: holds nothing to read")
    number, text = lines[0]
    raise InputError(
        f'{source.path}:{number}: nothing in this file was understood; the first line is "{text}"',
        "steelyard import --list shows the formats",
    )


def _reports(part: Source) -> list[Report]:
    names = formats_of(part)
    if len(names) == 1:
        return _read(part, names[0])
    if names:
        return _of_several(part, names)
    for number, text in part.lines():
        part.skip(number, text)
    return []


def _read(part: Source, name: str) -> list[Report]:
    try:
        return known_formats()[name].read(part)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{part.path}: damaged, as {name}: {brief(str(error), 80)}", "mend or remove that line"
        ) from None


def _of_several(part: Source, names: Sequence[str]) -> list[Report]:
    """Outputs of several tools in one file: each line belongs to the format that understands it.

    Raises InputError where two formats understand the same lines.
    """
    ambiguous = InputError(
        f"{part.path}: may be {' or '.join(names)}", "say which in a schedule: steelyard import --example"
    )
    if (numbered := part.short()) is None:
        raise ambiguous
    lines = dict(numbered)
    found: list[Report] = []
    understood: list[set[int]] = []
    for name in names:
        own = replace(part, skipped=Skipped(lines_max=len(lines)))
        found += _read(own, name)
        understood.append(lines.keys() - {number for number, _ in own.skipped.lines})
    for i, mine in enumerate(understood):
        others = set[int]().union(*understood[:i], *understood[i + 1 :])
        # a banner may be that of both; blank lines are not counted
        shared = {number for number in mine & others if lines[number].strip()}
        if len(shared) >= len(mine - others):
            raise ambiguous
    for number in sorted(lines.keys() - set[int]().union(*understood)):
        part.skip(number, lines[number])
    return found
