"""Options of an installed server with option files, by its own words: my_getopt.c reads their names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable
from functools import cache

from steelyard.study.setting_names import folded

_ANSWER_S = 30.0
_OPTION = re.compile(r"^ +(?:-., )?--([a-z][\w-]*)", re.MULTILINE)
_IGNORED = re.compile(r"\[Warning\] '([\w-]+)' (?:was removed|is MySQL .* compatible option)")
# a switch of either sense; `loose-` lets the server ignore a name that it does not have
_PREFIXES = {"skip": ("off", "on"), "disable": ("off", "on"), "enable": ("on", "off"), "loose": ("", "")}


def resolved(name: str, value: str, options: Collection[str]) -> tuple[str, str]:
    """The option that a line of a file means, and its value; ('', ''): the server may ignore the line.

    options: folded names of the server's; none: it is not known.
    """
    name = folded(name)
    prefix, _, rest = name.partition("_")
    near = [name] if name in options else [option for option in options if option.startswith(name)]
    if len(near) == 1:
        return near[0], value
    if not (rest and prefix in _PREFIXES and (options or prefix == "loose")):
        return name, value
    on, off = _PREFIXES[prefix]
    found, given = resolved(rest, (off if value == "0" else on) or value, options)
    if not options or found in options:
        return found, given
    return ("", "") if prefix == "loose" else (name, value)


@cache
def options_of(program: str, bindir: str | None) -> frozenset[str]:
    """Folded names of a server's options; none where it is not found. bindir: default: the PATH."""
    return frozenset(map(folded, _OPTION.findall(said(program, bindir, "--verbose", "--help"))))


def ignored(names: Iterable[str], options: Collection[str], program: str, bindir: str | None) -> set[str]:
    """Names that the server takes and ignores: '', those of other versions, and MySQL's."""
    strange = {name for name in map(folded, names) if not any(option.startswith(name) for option in options)}
    if not (options and strange):
        return {""}
    words = said(program, bindir, *(f"--loose-{name}=1" for name in sorted(strange)), "--verbose", "--help")
    return {"", *map(folded, _IGNORED.findall(words))}


@cache
def said(program: str, bindir: str | None, *arguments: str) -> str:
    """What a program says; '' where it is not found."""
    # Debian has servers in sbin, other programs in bin
    path = f"{bindir}:{bindir}/../sbin" if bindir else f"{os.environ.get('PATH')}:/usr/sbin"
    if (server := shutil.which(program, path=path)) is None:
        return ""
    done = subprocess.run(
        [server, "--no-defaults", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=_ANSWER_S,
    )  # fmt: skip
    return done.stdout
