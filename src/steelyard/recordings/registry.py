"""The formats: every module below `formats`. The first sentence of its docstring is its title.

`sniff(head: str) -> bool`: whether a file or section that begins with this text has the format. `read(source:
Source) -> list[Report]`: the reports in it; lines that are not understood go to `source.skip`; it raises
InputError, or a ValueError for what is damaged.
"""

import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from steelyard.errors import InputError, brief, nearest
from steelyard.recordings import formats
from steelyard.recordings.published import catalogue
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.study.source import text_of, toml_of


@cache
def known_formats() -> dict[str, ModuleType]:
    """Each format by its name, which is its place: `ase/sysmon`."""
    prefix = formats.__name__ + "."
    return {
        module.name.removeprefix(prefix).replace(".", "/"): import_module(module.name)
        for module in pkgutil.walk_packages(formats.__path__, prefix)
        if not module.ispkg and not module.name.rpartition(".")[2].startswith("_")
    }


def title_and_notes(format_: ModuleType) -> tuple[str, str]:
    """What it reads, its first sentence; and what else it says of itself."""
    title, _, notes = " ".join((format_.__doc__ or "").split()).partition(". ")
    return title.removesuffix("."), notes


def lines_of_formats() -> Iterator[str]:
    """Formats, then published recordings."""
    for name, format_ in known_formats().items():
        yield f"{name:26} {title_and_notes(format_)[0]}"
    yield ""
    for name, place in catalogue().items():
        yield f"{name:26} {toml_of(text_of(place), str(place))['question']}"


def formats_of(source: Source) -> list[str]:
    """The names of a source's formats: the one that a schedule chose, else all that know its beginning.

    Raises InputError for an unknown name.
    """
    found = known_formats()
    if chosen := source.choices.format:
        if chosen not in found:
            raise InputError(f'{source.path}: no format "{chosen}"{nearest(chosen, found)}')
        return [chosen]
    # a pattern would try each of many blanks as its beginning
    head = re.sub(r"\s{1000,}", "\n", source.head())
    return [name for name, one in found.items() if one.sniff(head)]


def reports_in(source: Source) -> list[Report]:
    """All reports of a file, in its order.

    Raises InputError for a file that is empty, of several tools, or of which nothing was understood.
    """
    parts = [(part, formats_of(part)) for part in source.sections()]
    known = list(dict.fromkeys(name for _, names in parts for name in names))
    hint = "one file per tool, or say which format it has in a schedule: steelyard import --example"
    for _, names in parts:
        if len(names) > 1:
            raise InputError(f"{source.path}: its beginning is that of {' and of '.join(names)}", hint)
    # sysstat begins each of its outputs with a banner
    if len(known) > 1 and any(part.title for part, _ in parts):
        raise InputError(f"{source.path}: holds the outputs of several tools: {', '.join(known)}", hint)
    read = [report for part, names in parts for report in _read(part, *names)]
    found = [r for r in read if r.understood and (not r.work or r.work.transactions >= 0)]
    if found:
        return found
    if reset := dict(notice for r in read for notice in r.notices).get("counter-reset"):
        raise InputError(f"{source.path}: {reset}", "record both captures without a restart between them")
    if not source.skipped.lines:
        raise InputError(f"{source.path}: holds nothing to read")
    number, text = source.skipped.lines[0]
    raise InputError(
        f'{source.path}:{number}: nothing in this file was understood; the first line is "{text}"',
        "steelyard import --list shows the formats; --format NAME reads what begins otherwise",
    )


def _read(part: Source, name: str = "") -> list[Report]:
    if not name:
        # of a whole file without a format the first lines are enough
        for number, text in part.lines() if part.inner else enumerate(part.head().split("\n"), start=1):
            part.skip(number, text)
        return []
    try:
        found: list[Report] = known_formats()[name].read(part)
    except RecursionError:
        raise InputError(f"{part.path}: its JSON is nested too deep for {name}") from None
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{part.path}: damaged, as {name}: {brief(str(error), 80)}", "mend or remove that line"
        ) from None
    for report in found:
        report.format = name
    return found
