"""MessagePack as Python's values. https://github.com/msgpack/msgpack/blob/master/spec.md"""

from __future__ import annotations

import struct
from typing import Any

_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_LENGTHS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xC4: ">B", 0xC5: ">H", 0xC6: ">I",
            0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}  # fmt: skip
_CONSTANTS: dict[int, Any] = {0xC0: None, 0xC2: False, 0xC3: True}
_DEEPEST = 64


def unpacked(data: bytes) -> Any:
    """The value. Raises ValueError for what is none, and for bytes after it."""
    try:
        value, at = _value(data, 0, 0)
    except (struct.error, IndexError):
        raise ValueError("it ends within a value") from None
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes follow its end")
    return value


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > _DEEPEST:
        raise ValueError("too deep")
    kind = data[at]
    at += 1
    if kind < 0x80 or kind >= 0xE0:
        return (kind if kind < 0x80 else kind - 256), at
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], at
    if kind in _NUMBERS:
        form = _NUMBERS[kind]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if kind in _LENGTHS:
        form = _LENGTHS[kind]
        length, at = struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    elif kind < 0xC0:
        length = kind & (0x1F if kind >= 0xA0 else 0x0F)
    else:
        raise ValueError(f"type {kind:#x}")
    if kind in (0xD9, 0xDA, 0xDB, 0xC4, 0xC5, 0xC6) or 0xA0 <= kind < 0xC0:
        if at + length > len(data):
            raise IndexError
        piece = data[at : at + length]
        return (piece if kind in (0xC4, 0xC5, 0xC6) else piece.decode(errors="surrogateescape")), at + length
    is_map = kind in (0xDE, 0xDF) or kind < 0x90
    if length * (2 if is_map else 1) > len(data) - at:
        raise IndexError
    items: list[Any] = []
    for _ in range(length * (2 if is_map else 1)):
        item, at = _value(data, at, depth + 1)
        items.append(item)
    return (dict(zip(items[::2], items[1::2], strict=True)) if is_map else items), at
