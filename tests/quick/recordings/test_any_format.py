"""What holds of every format: one knows a file, damage does no harm, nothing is dropped in silence."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import layouts
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layouts import LAYOUTS
from readings import readings

from steelyard.errors import InputError
from steelyard.recordings.notices import cut_off
from steelyard.recordings.registry import formats_of, known_formats, reports_in, title_and_notes
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source, zstd

TEXTS = list(LAYOUTS)
NAMES = [f"{i}-{name}" for i, name in enumerate(LAYOUTS.values())]
TMP = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(folder: Path, content: bytes, name: str = "report.txt") -> tuple[list[Report], Source]:
    place = folder / name
    place.write_bytes(content)
    source = Source(place)
    return reports_in(source), source


def essence(reports: list[Report]) -> list[object]:
    return [(r.figures, list(readings(r.samples)), r.work, r.rows, r.began, r.seconds) for r in reports]


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
def test_one_format_knows_a_file_and_understands_every_line(tmp_path: Path, text: str) -> None:
    reports, source = read(tmp_path, text.encode())
    assert {report.format for report in reports} == {LAYOUTS[text]}
    assert formats_of(source) == [LAYOUTS[text]]
    # a number that was too wide for its column is gone, and is reported
    assert [line for _, line in source.skipped.lines if "###" not in line] == []


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
def test_windows_line_ends_and_gzip_change_nothing(tmp_path: Path, text: str) -> None:
    plain = essence(read(tmp_path, text.encode())[0])
    assert essence(read(tmp_path, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())[0]) == plain
    assert essence(read(tmp_path, gzip.compress(text.encode()), "report.txt.gz")[0]) == plain


PACK = {"gzip": gzip.compress, "zstd": zstd.compress}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("drivers/pgbench_log", "gzip"),
        ("system/vmstat", "gzip"),
        ("system/sadf", "gzip"),
        ("system/vmstat", "zstd"),
    ],
)
def test_of_a_packed_file_that_was_cut_off_the_beginning_counts(tmp_path: Path, name: str, kind: str) -> None:
    numbers = random.Random(1)
    moments = [datetime(2026, 3, 2) + timedelta(seconds=i) for i in range(20_000)]
    counts = [numbers.randint(1, 10**9) for _ in moments]
    lines = [f"{i % 4} {i} {n} 0 1772445600 {i}" for i, n in enumerate(counts)]
    if name == "system/vmstat":
        head, names, row, *_ = layouts.VMSTAT.splitlines()
        rows = zip(moments, counts, strict=True)
        lines = [head, names, *(f"{row[:-19].replace('12281', str(n))}{at}" for at, n in rows)]
    elif name == "system/sadf":
        lines = ['{"sysstat": {"hosts": [{"nodename": "lab", "statistics": [']
        for at, n in zip(moments, counts, strict=True):
            lines.append(
                f'{{"timestamp": {{"date": "{at:%Y-%m-%d}", "time": "{at:%H:%M:%S}", "interval": 1}},'
            )
            lines.append(f' "cpu-load": [{{"cpu": "all", "idle": {n % 100}.5}}]}},')
    whole = PACK[kind](("\n".join(lines) + "\n").encode())
    (report,), source = read(tmp_path, whole[: len(whole) // 2], "report.txt.gz")
    (cut,) = [text for _, text in source.skipped.lines if text.startswith("[cut off here")]
    assert report.format == name and source.skipped.cut_off_at is not None
    # nothing of the line at which the file was cut
    values = set(report.samples.values_of("cs" if name == "system/vmstat" else "cpu_load_idle"))
    assert values <= ({float(n) for n in counts} | {n % 100 + 0.5 for n in counts})
    read_ = report.work.transactions if report.work else len(report.samples)
    assert 0.3 * len(counts) < read_ < (17 if name == "system/vmstat" else 1) * 0.7 * len(counts), cut
    text = cut_off("report.txt.gz", source.skipped)
    assert text.startswith("report.txt.gz is cut off at line ") and text.endswith("was imported")


@pytest.mark.parametrize(("pack", "program"), [(lzma.compress, "xz"), (bz2.compress, "bunzip2")])
def test_a_packed_file_that_is_not_read_is_refused_with_what_unpacks_it(
    tmp_path: Path, pack: Callable[[bytes], bytes], program: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, pack(layouts.VMSTAT.encode()))
    assert program in refused.value.hint


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_whole_packed_file_is_not_called_cut_off(tmp_path: Path, kind: str) -> None:
    text = layouts.VMSTAT + "".join(f"{layouts.VMSTAT.splitlines()[-1]}\n" for _ in range(9000))
    content = PACK[kind](text.encode())
    # two files, one behind the other, are one file
    for several in (content, content + content):
        _, source = read(tmp_path, several)
        assert (source.skipped.cut_off_at, source.skipped.count) == (None, 0)


def test_a_damaged_number_is_a_line_not_understood(tmp_path: Path) -> None:
    lines = [f"{1_772_445_600 + i} 100 5000 400000 10 900" for i in range(3)]
    lines[1] = lines[1].replace("5000", "9" * 40)
    (report,), source = read(tmp_path, "\n".join(lines).encode())
    assert source.skipped.count == 1 and report.work is not None
    assert report.work.transactions == 200


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
@TMP
@given(data=st.data())
def test_a_cut_or_damaged_file_is_read_in_part_or_refused(
    tmp_path: Path, text: str, data: st.DataObject
) -> None:
    content = bytearray(text.encode()[: data.draw(st.integers(0, len(text)), label="length")])
    for _ in range(data.draw(st.integers(0, 5), label="damages")):
        if content:
            at = data.draw(st.integers(0, len(content) - 1))
            content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=6))
    try:
        reports, _ = read(tmp_path, bytes(content))
    except InputError as refused:
        assert "report.txt" in str(refused)
    else:
        assert all(report.understood for report in reports)


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
def test_a_line_that_is_not_understood_is_counted(tmp_path: Path, text: str) -> None:
    if LAYOUTS[text] in ("system/sadf", "drivers/benchbase") or text.startswith("<html"):
        pytest.skip("one whole document")
    _, source = read(tmp_path, (text + "\nthe dog ate 12 rows; of these 3 were good\n").encode())
    assert source.skipped.count == 1 + text.count(" #######")
    number, line = source.skipped.lines[-1]
    # a log that DuckDB reads tells the line only where a cell has a wrong type
    assert number == 0 or (line.startswith("the dog ate") and number == text.count("\n") + 2)


def test_each_format_has_a_title_of_its_own() -> None:
    titles = [title_and_notes(one)[0] for one in known_formats().values()]
    assert all(titles) and len(set(titles)) == len(titles) >= 35
    assert set(LAYOUTS.values()) == known_formats().keys() - {"drivers/hammerdb_sqlite"}


@TMP
@given(content=st.binary(max_size=400))
def test_any_bytes_are_refused_with_a_clear_error(tmp_path: Path, content: bytes) -> None:
    try:
        read(tmp_path, content)
    except InputError as refused:
        assert "report.txt" in str(refused)
