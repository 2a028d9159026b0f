"""Files of traffic and dumps of data, anonymised into a folder under one secret."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.captures.anonymity.dump import NOT_UNDERSTOOD, anonymise_dump, dialect_of
from steelyard.captures.anonymity.statement import Anonymiser
from steelyard.captures.entry import Entry
from steelyard.captures.folder import write_folder
from steelyard.captures.formats.registry import format_of
from steelyard.study.errors import InputError

_SECRET_BYTES = 32


def anonymise(files: Sequence[Path], folder: Path, key: Path, names: bool, database: str = "") -> list[str]:
    """Writes the capture of the logs and the dumps; what to say about them. Raises InputError.

    key: file of the secret, made where there is none. names: replaces names of tables and columns as well.
    """
    secret = _secret(key, folder)
    said: list[str] = []
    logs: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            dialect = dialect_of(file)
            if dialect is None:
                logs.append(file)
                continue
            target = folder / f"{file.stem}.anonymous.sql"
            left_out = anonymise_dump(file, target, Anonymiser(secret, dialect, names), dialect)
            said += [f"{target}: data", *(f"left out: {count:,} {what}" for what, count in left_out.items())]
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from None
    if logs:
        anonymiser = Anonymiser(secret, format_of(logs[0]).DIALECT, names)
        said += write_folder(logs, folder, database, lambda entry: _entry(anonymiser, entry))
    return [*said, f"the secret stays with you: {key}"]


def _entry(anonymiser: Anonymiser, entry: Entry) -> Entry:
    if entry.flaw:
        return replace(entry, sql="", values=())
    sql = anonymiser.statement(entry.sql)
    if sql is None:
        return replace(entry, sql="", values=(), flaw=NOT_UNDERSTOOD)
    values = tuple(None if one is None else anonymiser.values.replaced(one) for one in entry.values)
    return replace(entry, sql=sql, values=values)


def _secret(key: Path, folder: Path) -> bytes:
    if folder.absolute() in key.absolute().parents:
        raise InputError(f"{key}: the secret must not lie in the folder that leaves its owner")
    try:
        if not key.exists():
            handle = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(_SECRET_BYTES) + "\n")
        text = key.read_text(encoding="ascii").strip()
        found = bytes.fromhex(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{key}: no secret: {error}", "leave the file out: a new one is made") from None
    if len(found) < _SECRET_BYTES:
        raise InputError(f"{key}: no secret: it needs {2 * _SECRET_BYTES} hexadecimal digits")
    return found
