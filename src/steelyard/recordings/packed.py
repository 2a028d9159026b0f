"""Files that are packed with gzip or zstd, and those that were cut off in the middle."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from pathlib import Path
from typing import IO

import duckdb

from steelyard.study.errors import InputError, brief

# how the line begins that stands in place of what is missing
CUT_OFF = b"[cut off here"
_ZSTD = b"\x28\xb5\x2f\xfd"


def is_packed(path: Path) -> str:
    """`gzip`, `zstd`, or `none`, by the first bytes of the file. Raises InputError."""
    with plain(path) as file:
        magic = file.read(4)
    if magic[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if magic == _ZSTD else "none"


def is_cut_off(path: Path) -> bool:
    """Whether the file is gzip or zstd, and not whole. Raises InputError."""
    kind = is_packed(path)
    return _gzip_is_cut_off(path) if kind == "gzip" else kind == "zstd" and _zstd_is_cut_off(path)


def _gzip_is_cut_off(path: Path) -> bool:
    try:
        with gzip.open(path, "rb") as file:
            while file.read(1 << 20):
                pass
    except (OSError, EOFError, zlib.error):
        return True
    return False


def _zstd_is_cut_off(path: Path) -> bool:
    """By the sizes of its frames and blocks, which nothing has to be unpacked for (RFC 8878)."""
    with plain(path) as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(0)
        while file.tell() < end:
            if not _frame_is_whole(file):
                return True
        return file.tell() > end


def _frame_is_whole(file: IO[bytes]) -> bool:
    """Whether a frame has its last block; then the file stands behind it."""
    magic = file.read(4)
    if magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:
        file.seek(int.from_bytes(file.read(4), "little"), os.SEEK_CUR)
        return True
    if magic != _ZSTD or not (head := file.read(1)):
        return False
    single = head[0] >> 5 & 1
    content_size = (single, 2, 4, 8)[head[0] >> 6]
    file.seek((not single) + (0, 1, 2, 4)[head[0] & 3] + content_size, os.SEEK_CUR)
    last = 0
    while not last:
        block = file.read(3)
        if len(block) < 3:
            return False
        number = int.from_bytes(block, "little")
        last, kind = number & 1, number >> 1 & 3
        # a repeated byte stands once
        file.seek(1 if kind == 1 else number >> 3, os.SEEK_CUR)
    # a checksum
    file.seek(4 * (head[0] >> 2 & 1), os.SEEK_CUR)
    return True


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
    """Its lines, unpacked; where it was cut off, the last one says so. Raises InputError."""
    packed = is_packed(path)
    if packed == "gzip":
        return gzip.open(path, "rb")  # pyright: ignore[reportReturnType]
    return _ZstdLines(path) if packed == "zstd" else plain(path)  # pyright: ignore[reportReturnType]


class _ZstdLines(io.RawIOBase):
    """Lines of a zstd file: DuckDB unpacks it, since Python's own library cannot."""

    def __init__(self, path: Path) -> None:
        self._duckdb = duckdb.connect()
        try:
            self._rows = self._duckdb.execute(
                "select line from read_csv(?, compression = 'zstd', header = false, auto_detect = false,"
                " delim = '\x01', quote = '', escape = '', strict_mode = false, null_padding = true,"
                " columns = {'line': 'VARCHAR'})",
                [str(path)],
            )
        except duckdb.Error as error:
            raise InputError(f"{path}: not a whole zstd file: {brief(str(error), 120)}") from None
        self._cut_off = _zstd_is_cut_off(path)
        self._waiting: list[tuple[str | None]] = []
        self._next: list[tuple[str | None]] = self._rows.fetchmany(10_000)

    def readline(self, size: int | None = -1, /) -> bytes:
        if not self._waiting:
            self._waiting = self._next[::-1]
            self._next = self._rows.fetchmany(10_000) if self._next else []
            if self._cut_off and self._waiting and not self._next:
                # DuckDB gives a line that was cut off as a whole one, and no error
                self._cut_off = False
                self._waiting[0] = (CUT_OFF.decode() + ": the zstd file is not whole]",)
        return ((self._waiting.pop()[0] or "") + "\n").encode() if self._waiting else b""

    def close(self) -> None:
        self._duckdb.close()
        super().close()
