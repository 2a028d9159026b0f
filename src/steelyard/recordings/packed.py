"""Files packed with gzip or zstd, whole or cut off in the middle."""

import gzip
import os
import stat
import sys
import zlib
from pathlib import Path
from typing import IO

from steelyard.errors import InputError
from steelyard.recordings.limits import Deadline

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# how the line begins that stands in place of what is missing
CUT_OFF = b"[cut off here"
_ZSTD = b"\x28\xb5\x2f\xfd"
_UNPACKED_BY = {b"\xfd7zXZ\0": "xz -dk", b"BZh": "bunzip2 -k", b"PK\x03\x04": "unzip"}
# raised on a packed file that ends too early or is damaged
DAMAGE = (OSError, EOFError, zlib.error, zstd.ZstdError)


def is_packed(path: Path) -> str:
    """`gzip`, `zstd`, or `none`, by the first bytes of the file. Raises InputError."""
    with plain(path) as file:
        magic = file.read(6)
    for begin, program in _UNPACKED_BY.items():
        if magic.startswith(begin):
            raise InputError(
                f"{path}: packed in a way that is not read", f"unpack it first: {program} {path}"
            )
    if magic[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if magic.startswith(_ZSTD) else "none"


def is_cut_off(path: Path, deadline: Deadline) -> bool:
    """Whether the file is gzip or zstd, and not whole. Raises InputError."""
    if is_packed(path) == "none":
        return False
    try:
        with opened(path) as file:
            done = 0
            while part := file.read(1 << 20):
                done += len(part)
                deadline.check(path, done)
    except DAMAGE:
        return True
    return False


def plain(path: Path) -> IO[bytes]:
    """The file itself, open. Raises InputError."""
    try:
        # without O_NONBLOCK, opening a pipe without a writer would block
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(
            f"{path}: cannot be read: it is no file", "name files, or give a folder with --by-folder"
        )
    return os.fdopen(handle, "rb")


def opened(path: Path) -> IO[bytes]:
    """The file, unpacked: reading raises one of DAMAGE where it was cut off. Raises InputError."""
    packed = is_packed(path)
    if packed == "gzip":
        return gzip.open(path, "rb")  # pyright: ignore[reportReturnType]
    return zstd.open(path, "rb") if packed == "zstd" else plain(path)  # pyright: ignore[reportReturnType]
