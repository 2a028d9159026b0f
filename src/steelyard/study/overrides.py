"""A study with parts of its plan replaced from the command line, as a text of its own.

The text that goes into the bundle is the one that was run: what the command line changed is
written into it, so the bundle alone can be resumed and repeated.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w
from pydantic import ValidationError

from steelyard.study.errors import InputError
from steelyard.study.load_study import catalogue, find_study
from steelyard.study.study import Plan

_OPTIONS = {"blocks": "--blocks", "clients": "--clients", "measure_s": "--measure"}


def adjusted(
    name: str,
    blocks: int | None = None,
    clients: str | None = None,
    measure_s: float | None = None,
    subject: str | None = None,
    probes: Mapping[str, Any] | None = None,
) -> tuple[str, str]:
    """Text of the study, and its origin for messages. Raises InputError.

    subject: asks the same question of another server, by the built-in study `NAME-SUBJECT`: settings
    and levels are a server's own, so a study cannot be turned to another by a word.
    probes: keys of the study's [probes] to replace.
    """
    name = _asked_of(name, subject)
    _, text = find_study(name)
    changes: dict[str, Any] = {}
    if blocks is not None:
        changes["blocks"] = blocks
    if measure_s is not None:
        changes["measure_s"] = measure_s
    if clients is not None:
        try:
            changes["clients"] = [int(part) for part in clients.split(",")]
        except ValueError:
            raise InputError(
                f"--clients {clients}: whole numbers with commas between, such as 1,8,64"
            ) from None
    if not changes and not probes:
        return text, name
    _check(changes)
    raw = tomllib.loads(text)
    raw["plan"] = {**raw.get("plan", {}), **changes}
    raw["probes"] = {**raw.get("probes", {}), **(probes or {})}
    return tomli_w.dumps(raw), name


def _asked_of(name: str, subject: str | None) -> str:
    if subject is None or find_study(name)[0].subject.kind == subject:
        return name
    known = catalogue()
    if f"{name}-{subject}" in known:
        return f"{name}-{subject}"
    others = [other.removeprefix(f"{name}-") for other in known if other.startswith(f"{name}-")]
    kinds = [kind for kind in others if find_study(f"{name}-{kind}")[0].subject.kind == kind]
    raise InputError(
        f"--subject {subject}: no built-in study asks the question of {name} of it",
        f"there is one for {', '.join(kinds)}" if kinds else "steelyard studies",
    )


def _check(changes: dict[str, Any]) -> None:
    """In the words of the command line: the user never sees the text that these are written into."""
    try:
        Plan.model_validate(changes)
    except ValidationError as error:
        raise InputError(
            "\n".join(
                f"{_OPTIONS[str(item['loc'][0])]}: {item['msg']} (given: {item['input']})"
                for item in error.errors()
            ),
            "steelyard run --help",
        ) from None
