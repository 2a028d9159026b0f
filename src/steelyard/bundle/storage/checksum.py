"""JSON files with a checksum of their content: it detects changed values and ignores the layout."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from steelyard.errors import InputError

Json = dict[str, Any]
_KEY = "checksum"
_FILE_BYTES_MAX = 64 << 20


def seal(content: Mapping[str, Any]) -> Json:
    """The content with its checksum, in place of one that it has already."""
    bare = {name: value for name, value in content.items() if name != _KEY}
    return {**bare, _KEY: _checksum(bare)}


def read_sealed(place: Path) -> Json:
    """The object in a JSON file, verified, without its checksum. Raises InputError that names the file."""
    return proven(read_object(place, ""), place, "")


def proven(content: Mapping[str, Any], place: Path, hint: str) -> Json:
    """The content without its checksum. Raises InputError where that is missing or differs."""
    bare = {**content}
    if bare.pop(_KEY, None) != _checksum(bare):
        raise InputError(f"{place}: its checksum differs from its content: damaged or edited", hint)
    return bare


def read_bytes(place: Path, hint: str) -> bytes:
    """The content of a regular file. Raises InputError that names the file."""
    try:
        # opening a named pipe would block
        if place.exists() and not place.is_file():
            raise InputError(f"{place}: not a file", hint)
        if place.stat().st_size > _FILE_BYTES_MAX:
            raise InputError(f"{place}: larger than {_FILE_BYTES_MAX >> 20} MiB: damaged", hint)
        return place.read_bytes()
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror}", hint) from None
    except ValueError as error:
        # a name that no file can have
        raise InputError(f"{str(place)!r}: cannot be read: {error}", hint) from None


def read_object(place: Path, hint: str) -> Json:
    """The object in a JSON file, not verified. Raises InputError that names the file."""
    try:
        found: Any = json.loads(read_bytes(place, hint).decode("utf-8"))
        # half of a surrogate pair cannot be printed
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise InputError(f"{place}: not JSON: nested too deeply", hint) from None
    except ValueError as error:
        raise InputError(f"{place}: not JSON: {error}", hint) from None
    if not isinstance(found, dict):
        raise InputError(f"{place}: not a JSON object", hint)
    return cast(Json, found)


def _checksum(bare: Json) -> str:
    return hashlib.sha256(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()
