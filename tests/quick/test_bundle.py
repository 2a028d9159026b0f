"""Bundles: runs are kept whole or not at all, and read back as they were measured."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from histograms import histogram
from hypothesis import given, settings
from hypothesis import strategies as st
from run_rows import SECOND, head, phases

from declared import METRICS
from steelyard.bundle.evidence import Topology
from steelyard.bundle.export import export
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.queries import CPU, THROUGHPUT
from steelyard.bundle.series.read import gauges
from steelyard.bundle.storage.checksum import read_sealed, seal
from steelyard.bundle.writer import BundleWriter
from steelyard.errors import InputError
from steelyard.report.about.provenance import about_bundle
from steelyard.run_tables.schema import BY_NAME, DERIVED, TABLES
from steelyard.study.load_study import find_study, parse_study
from steelyard.study.plan import options

STUDY = find_study("aa")[1]


def samples(metric: str, values: Mapping[float, float]) -> dict[str, Sequence[Any]]:
    return {
        "t_ns": [round(t * SECOND) for t in values],
        "monitor": ["processes"] * len(values),
        "entity": ["server"] * len(values),
        "metric": [metric] * len(values),
        "value": list(values.values()),
    }


@pytest.fixture
def writer(tmp_path: Path) -> BundleWriter:
    study = parse_study(STUDY, "aa")
    return BundleWriter.create(tmp_path / "b", STUDY, options(study), "A", {**METRICS, "cpu": {"model": "x"}})


def test_a_run_comes_back_as_it_was_written(writer: BundleWriter) -> None:
    throughput = {
        "point": [0, 0],
        "second": [-1, 0],
        "statement": ["transaction"] * 2,
        "count": [7, 9],
        "errors": [0, 1],
    }
    latency = {"point": [0], "statement": ["x"], "count": [1], "histogram": [b"\x00\x01\x00"]}
    writer.write_run(1, {"same": "A"}, {"runs": head("A", 1), "throughput": throughput, "latency": latency})
    bundle = Bundle(writer.path)
    rows = bundle.duckdb.execute("select run, second, count from throughput order by 2").fetchall()
    assert rows == [(1, -1, 7), (1, 0, 9)]
    assert bundle.duckdb.execute("select histogram from latency").fetchall() == [(b"\x00\x01\x00",)]
    assert bundle.duckdb.execute("select option, same from runs").fetchall() == [("A", "A")]


def test_a_run_that_cannot_be_written_leaves_nothing(writer: BundleWriter) -> None:
    broken = {"point": [0], "second": ["no number"], "statement": ["x"], "count": [1], "errors": [0]}
    with pytest.raises((OSError, ValueError)):
        writer.write_run(1, {}, {"runs": head("A", 1), "throughput": broken})
    assert not list((writer.path / "runs").glob("[0-9]*"))
    assert writer.next_run() == 1


NAMES = (
    *(
        "a[1].bundle",
        "a*b.bundle",
        "a?.bundle",
        "io=2.bundle",
        "p%20.bundle",
        "{a,b}.bundle",
        "~",
        "-x.bundle",
    ),
    *('it\'s "so".bundle', "two\nlines.bundle", "Wägung 秤.bundle", "back\\slash.bundle", "s3:", "**"),
    os.fsdecode(b"\xff\xfe.bundle"),
)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_bundle_is_written_and_read_whatever_its_name(tmp_path: Path, name: str) -> None:
    study = parse_study(STUDY, "aa")
    # each of these is found by the others' names where names are taken for patterns
    places = [
        tmp_path / other / "b" for other in dict.fromkeys((name, "a1.bundle", "axb.bundle", "a2.bundle"))
    ]
    for count, place in enumerate(places):
        writer = BundleWriter.create(place, STUDY, options(study), "A", METRICS)
        steps = samples("cpu_ns_total", {0.5: 0, 1.5: 10, 6.0: 55})
        throughput = {"point": [0], "second": [0], "statement": ["x"], "count": [count], "errors": [0]}
        for run, option in ((1, "A"), (2, "B")):
            tables = {"runs": head(option, 1), "phases": phases(), "throughput": throughput, "samples": steps}
            writer.write_run(run, {"same": option}, tables)
    bundle = Bundle(places[0])
    assert bundle.evidence().view("runs")["run"].tolist() == [1, 2]
    for table in ("throughput", "samples"):
        names = [row[0] for row in bundle.duckdb.execute(f"describe {table}").fetchall()]
        assert names == [column.name for column in next(t for t in TABLES if t.name == table).columns]
    assert bundle.duckdb.execute("select run, count from throughput").fetchall() == [(1, 0), (2, 0)]
    out = tmp_path / name / "out"
    written = list(export(bundle, out, "csv", ["samples"]))
    assert [len(place.read_text().splitlines()) for place in written] == [7]
    assert BundleWriter.next_run(writer) == 3


def test_a_bundle_of_a_format_before_the_first_release_is_refused(writer: BundleWriter) -> None:
    place = writer.path / "bundle.json"
    place.write_text(json.dumps(seal({**read_sealed(place), "format": 2})))
    with pytest.raises(InputError, match="written in format 2"):
        Bundle(writer.path)


def test_a_histogram_that_is_none_is_an_error_that_names_the_file(writer: BundleWriter) -> None:
    latency = {"point": [0], "statement": ["transaction"], "count": [1], "histogram": [b"\xff\x00"]}
    writer.write_run(1, {"same": "A"}, {"runs": head("A", 1), "phases": phases(), "latency": latency})
    with pytest.raises(InputError, match=r"runs/0001/latency\.parquet: not a histogram"):
        Bundle(writer.path).evidence()


def test_servers_keep_what_differs_from_the_first_and_are_shown_by_option(writer: BundleWriter) -> None:
    new = {"data_checksums": "on", "worker_slots": "16", "port": "1"}
    old = {"data_checksums": "off", "port": "1"}
    writer.add_server("B", {"version": "18.1", "settings": new, "sources": {"worker_slots": "file"}})
    writer.add_server("A", {"version": "15.2", "settings": old, "sources": {"port": "file"}})
    writer.write_run(1, {"same": "A"}, {"runs": head("A", 1)})
    bundle = Bundle(writer.path)
    evidence, about = bundle.evidence(), about_bundle(bundle)
    assert evidence.fixed == {"B": {"data_checksums": "on"}, "A": {"data_checksums": "off"}}
    assert evidence.versions == {"A": "15.2", "B": "18.1"}
    assert about.server_version == "A: 15.2 | B: 18.1"
    assert about.server_settings["worker_slots"] == "A: not in this version | B: 16"
    assert about.server_settings["port"] == "A: 1 | B: default"


def test_the_draft_of_a_killed_writer_is_not_read_and_is_removed_by_the_next(writer: BundleWriter) -> None:
    writer.write_run(1, {"same": "A"}, {"runs": head("A", 1)})
    draft = shutil.copytree(writer.path / "runs" / "0001", writer.path / "runs" / ".0007.draft")
    bundle = Bundle(writer.path)
    assert bundle.inventory.notices == () and bundle.evidence().view("runs")["run"].tolist() == [1]
    writer.write_run(writer.next_run(), {"same": "B"}, {"runs": head("B", 1)})
    assert not Path(draft).exists()
    assert Bundle(writer.path).evidence().view("runs")["run"].tolist() == [1, 2]


def again(writer: BundleWriter) -> BundleWriter:
    """Another writer of the same bundle; the lock of the first is let go."""
    path = writer.path
    del writer._lock
    return BundleWriter(path)


UNUSABLE = ("n" * 300, "file/b", "nul\0.bundle")


@pytest.mark.parametrize("name", UNUSABLE, ids=["long", "through-a-file", "nul"])
def test_a_name_that_no_folder_can_have_is_bad_input(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    study = parse_study(STUDY, "aa")
    with pytest.raises(InputError, match="cannot be written"):
        BundleWriter.create(tmp_path / name, STUDY, options(study), "A", METRICS)
    with pytest.raises(InputError):
        Bundle(tmp_path / name)


def test_a_redone_block_counts_by_its_last_attempt(writer: BundleWriter) -> None:
    for run, (option, attempt, status) in enumerate(
        [("A", 1, "done"), ("B", 1, "void"), ("A", 2, "done"), ("B", 2, "done")], start=1
    ):
        writer.write_run(run, {"same": option}, {"runs": head(option, 1, attempt, status)})
    assert list(Bundle(writer.path).evidence().view("runs")["run"]) == [3, 4]


@pytest.mark.parametrize(
    ("first", "second", "used"),
    [
        # attempt 1 of options A and B, then attempt 2: each status with its share of time lost
        ([("done", 0.0), ("disturbed", 0.3)], [("done", 0.0), ("done", 0.2)], [3, 4]),
        ([("done", 0.0), ("disturbed", 0.3)], [("done", 0.6), ("done", 0.0)], [1, 2]),
        ([("done", 0.0), ("disturbed", 0.3)], [("disturbed", 0.6), ("done", 0.0)], [1, 2]),
        ([("disturbed", 0.3)], [("done", 0.6), ("done", 0.0)], [2, 3]),
        ([("done", 0.0), ("disturbed", 0.3)], [("done", 0.6)], [3]),
        ([("done", 0.0), ("disturbed", 0.3)], [("void", 0.0)], []),
        ([("done", 0.0), ("disturbed", None)], [("done", None), ("done", None)], [3, 4]),
    ],
)
def test_of_a_disturbed_block_the_attempt_that_was_disturbed_less_counts(
    writer: BundleWriter,
    first: Sequence[tuple[str, float | None]],
    second: Sequence[tuple[str, float | None]],
    used: list[int],
) -> None:
    runs = [(1, *place, *run) for place, run in zip(enumerate("AB"), first, strict=False)]
    runs += [(2, *place, *run) for place, run in zip(enumerate("AB"), second, strict=False)]
    for number, (attempt, _, option, status, share) in enumerate(runs, start=1):
        written = {**head(option, 1, attempt, status), "disturbed_share": [share]}
        writer.write_run(number, {"same": option}, {"runs": written})
    assert list(Bundle(writer.path).columns("select run from used_runs order by run")["run"]) == used


def rate(writer: BundleWriter, readings: Mapping[float, float]) -> float:
    tables = {"runs": head("A", 1), "phases": phases(), "samples": samples("cpu_ns_total", readings)}
    writer.write_run(writer.next_run(), {"same": "A"}, tables)
    return float(Bundle(writer.path).evidence().view("rates")["rate_per_s"][-1])


@settings(max_examples=12)
@given(slope=st.floats(0.1, 1e9), phase=st.floats(0.0, 0.9), step=st.floats(0.3, 1.5))
def test_a_steady_counter_has_its_slope_as_rate_whenever_it_is_read(
    tmp_path_factory: pytest.TempPathFactory, slope: float, phase: float, step: float
) -> None:
    study = parse_study(STUDY, "aa")
    path = tmp_path_factory.mktemp("bundle") / "b"
    writer = BundleWriter.create(path, STUDY, options(study), "A", METRICS)
    times = [phase + n * step for n in range(24)]
    assert rate(writer, {t: slope * t for t in times}) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("growth", [0, 1000])
def test_a_large_counter_keeps_its_growth_to_the_last_digit(writer: BundleWriter, growth: int) -> None:
    """A double of 1e15 has steps of 0.125: only differences of readings may be multiplied."""
    readings = {0.3 + n * 0.7: 1e15 + growth * n for n in range(10)}
    assert rate(writer, readings) == pytest.approx(growth / 0.7, rel=1e-12, abs=0)


@pytest.mark.parametrize("step_s", [0.1, 0.25, 1.0])
def test_the_cpu_has_its_place_on_the_page_however_often_it_is_read(
    writer: BundleWriter, step_s: float
) -> None:
    readings = {1 + n * step_s: 5e8 * n * step_s for n in range(1 + round(4 / step_s))}
    tables = {"runs": head("A", 1), "phases": phases(), "samples": samples("cpu_ns_total", readings)}
    writer.write_run(1, {"same": "A"}, tables)
    drawn = [row["percent"] for row in Bundle(writer.path).records(CPU)]
    assert len(drawn) >= 4 and drawn == pytest.approx([50] * len(drawn))


def test_work_outside_the_measure_phase_does_not_count(writer: BundleWriter) -> None:
    # 1000 a second in measure, and a burst in the warm-up and in the cool-down
    readings = {0.5: 0, 0.9: 5000, 1.0: 6000, 3.0: 8000, 5.0: 10000, 5.1: 90000, 6.0: 90000}
    assert rate(writer, readings) == pytest.approx(1000)


@pytest.mark.parametrize(
    ("length_s", "counts", "per_s"),
    [
        (0.5, [100], [200]),
        (1.0, [100], [100]),
        # of a longer run, a second that measuring cut short is left out
        (2.5, [100, 120, 60], [100, 120]),
    ],
)
def test_the_throughput_of_a_run_is_drawn_however_short_it_is(
    writer: BundleWriter, length_s: float, counts: list[int], per_s: list[float]
) -> None:
    measured = {
        "point": [0],
        "clients": [2],
        "phase": ["measure"],
        "start_ns": [SECOND],
        "end_ns": [SECOND + round(length_s * SECOND)],
    }
    n = len(counts)
    throughput = {
        "point": [0] * n,
        "second": list(range(n)),
        "statement": ["transaction"] * n,
        "count": counts,
        "errors": [0] * n,
    }
    tables = {"runs": head("A", 1), "phases": measured, "throughput": throughput}
    writer.write_run(1, {"same": "A"}, tables)
    assert [row["tps"] for row in Bundle(writer.path).records(THROUGHPUT)] == per_s


def waits(readings: Mapping[float, Mapping[str, float]]) -> dict[str, Sequence[Any]]:
    """Readings of one monitor: counters by entity, by time."""
    rows = [(t, entity, value) for t, found in readings.items() for entity, value in found.items()]
    return {
        "t_ns": [round(t * SECOND) for t, _, _ in rows],
        "monitor": ["postgres-waits"] * len(rows),
        "entity": [entity for _, entity, _ in rows],
        "metric": ["samples_total"] * len(rows),
        "value": [value for _, _, value in rows],
    }


@pytest.mark.parametrize(
    ("late", "per_s"),
    [
        # measure is 1-5 s; readings each second from 0.5 s on, at first without the counter
        ({3.5: 40, 4.5: 60, 5.5: 60}, 15),
        # rises from 0 at 0.5 s to 8 at 1.5 s: half of that before measure begins
        ({1.5: 8, 2.5: 8, 5.5: 8}, 1),
        # seen once more after measure only: half of its rise lies before the end
        ({5.5: 8}, 1),
    ],
)
def test_a_counter_that_appears_late_was_zero_in_the_readings_before(
    writer: BundleWriter, late: Mapping[float, float], per_s: float
) -> None:
    times = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    readings = {t: {"sessions": t, **({"Lock:tuple": late[t]} if t in late else {})} for t in times}
    writer.write_run(1, {"same": "A"}, {"runs": head("A", 1), "phases": phases(), "samples": waits(readings)})
    rates = Bundle(writer.path).evidence().view("rates")
    found = dict(zip(rates["entity"], rates["rate_per_s"], strict=True))
    assert found == {"Lock:tuple": pytest.approx(per_s), "sessions": pytest.approx(1)}


@settings(max_examples=12)
@given(
    first_s=st.floats(0.0, 2.0),
    growth=st.lists(st.integers(0, 10**6), min_size=8, max_size=8),
    seen=st.sets(st.integers(0, 7), min_size=1, max_size=7),
)
def test_a_counter_has_the_same_rate_whether_or_not_others_of_its_monitor_come_and_go(
    tmp_path_factory: pytest.TempPathFactory, first_s: float, growth: list[int], seen: set[int]
) -> None:
    study = parse_study(STUDY, "aa")
    path = tmp_path_factory.mktemp("bundle") / "b"
    writer = BundleWriter.create(path, STUDY, options(study), "A", METRICS)
    values = {first_s + place * 0.8: float(sum(growth[: place + 1])) for place in range(8)}
    alone = waits({t: {"sessions": value} for t, value in values.items()})
    changing = waits(
        {
            t: {"sessions": value, **({"other": 1.0} if place in seen else {})}
            for place, (t, value) in enumerate(values.items())
        }
    )
    for run, found in ((1, alone), (2, changing)):
        writer.write_run(run, {"same": "A"}, {"runs": head("A", run), "phases": phases(), "samples": found})
    evidence = Bundle(path).evidence()
    rates = evidence.rows("select rate_per_s from rates where entity = 'sessions' order by run")
    assert len(rates) == 2 and rates[0] == pytest.approx(rates[1])


def test_a_monitor_that_begins_late_has_no_zero_before_its_first_reading(writer: BundleWriter) -> None:
    assert rate(writer, {3.0: 500, 4.0: 600, 6.0: 800}) == pytest.approx(100)


def test_a_gauge_is_told_apart_by_phase(writer: BundleWriter) -> None:
    readings = {0.5: 1, 1.5: 10, 3.0: 50, 4.9: 40, 5.5: 39, 6.5: 2}
    tables = {"runs": head("A", 1), "phases": phases(), "samples": samples("memory_bytes", readings)}
    writer.write_run(1, {"same": "A"}, tables)
    gauges = Bundle(writer.path).evidence().view("gauges")
    found = {name: float(gauges[name][0]) for name in ("start", "end", "cooled", "gone", "lowest", "highest")}
    assert found == {"start": 10, "end": 40, "cooled": 39, "gone": 2, "lowest": 10, "highest": 50}
    assert gauges["limit"][0] is np.ma.masked


@pytest.mark.parametrize("turns", [False, True])
def test_the_highest_of_a_gauge_in_the_table_is_the_highest_drawn_in_measure(
    writer: BundleWriter, turns: bool
) -> None:
    # measure is 1-5 s: a sample at its very start is the highest, others are just before and long after it
    values = {0.8: 2.0, 1.0: 9.0, 3.0: 4.0, 5.0: 5.0, 8.0: 11.0}
    turn = {column.name: [1] for column in BY_NAME["turns"].columns if column.name != "run"}
    tables = {"runs": head("A", 1), "phases": phases(), "samples": samples("memory_private_bytes", values)}
    writer.write_run(1, {"same": "A"}, {**tables, **({"turns": turn} if turns else {})})
    drawn = gauges(Bundle(writer.path))
    rows = [(row["t_s"], row["value"], row["measured"]) for row in drawn]
    assert [row for row in rows if row[2]] == [(0, 9, True), (2, 4, True), (4, 5, True)]
    assert [row[:2] for row in rows if not row[2]] == ([] if turns else [(0, 2), (7, 11)])


def test_a_bundle_without_runs_is_no_evidence_and_says_how_to_go_on(writer: BundleWriter) -> None:
    with pytest.raises(InputError) as caught:
        Bundle(writer.path).evidence()
    assert "resume" in caught.value.hint


def test_a_newer_format_is_refused(writer: BundleWriter) -> None:
    place = writer.path / "bundle.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "format": 99}))
    with pytest.raises(InputError, match="newer format"):
        Bundle(writer.path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_every_table_is_exported(writer: BundleWriter, tmp_path: Path, kind: str) -> None:
    writer.write_run(1, {"same": "A"}, {"runs": head("A", 1)})
    places = list(export(Bundle(writer.path), tmp_path / "out", kind))
    assert [place.name for place in places] == [f"{table.name}.{kind}" for table in (*TABLES, *DERIVED)]
    assert all(place.exists() for place in places)


def test_an_unknown_table_is_not_exported(writer: BundleWriter, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='did you mean "samples"'):
        list(export(Bundle(writer.path), tmp_path / "out", "csv", ["sample"]))


def latches(**columns: Sequence[Any]) -> dict[str, Sequence[Any]]:
    return {"point": [0], "latch": ["RC"], **columns}


def with_latches(writer: BundleWriter, table: Mapping[str, Sequence[Any]]) -> Bundle:
    writer.write_run(1, {"same": "A"}, {"runs": head("A", 1), "phases": phases(), "latches": table})
    return Bundle(writer.path)


def test_a_latch_counter_that_is_not_available_is_null_and_never_zero(writer: BundleWriter) -> None:
    bundle = with_latches(writer, latches(gets=[7], misses=[None], sleeps=[0]))
    row = bundle.duckdb.execute("select gets, misses, spin_gets, sleeps, wait_ns from latches").fetchone()
    assert row == (7, None, None, 0, None)
    found = bundle.evidence().view("latches")
    assert (found["gets"][0], found["sleeps"][0]) == (7, 0)
    assert all(found[name][0] is np.ma.masked for name in ("misses", "spin_gets", "wait_ns"))


def test_hold_times_come_back_as_shares(writer: BundleWriter) -> None:
    bundle = with_latches(writer, latches(hold_histogram=[histogram({100: 75, 900: 25})]))
    ((ns, share),) = bundle.evidence().rows("select ns, share from holds")
    assert sum(share) == pytest.approx(1)
    assert sum(part for each, part in zip(ns, share, strict=True) if each == 900) == pytest.approx(
        0.25, abs=0.02
    )
    assert set(ns) == {100, 900}


@pytest.mark.parametrize(
    ("environment", "topology"),
    [
        ({}, (None, None)),
        ({"cpu": {"cores": 6, "cpus_usable": 12}}, (6, 12)),
        ({"cpu": {"cpus_usable": 2}}, (2, 2)),
        (
            {
                "cpu": {
                    "cores": 2,
                    "cpus_usable": 4,
                    "topology": [{"cpu": c, "core": c // 2, "package": "0"} for c in range(4)],
                },
                "placement": {"server_cpus": [0, 1, 2], "engine_cpus": [3], "apart": True},
            },
            (2, 3),
        ),
    ],
)
def test_the_server_has_the_cpus_that_it_is_kept_on(
    environment: dict[str, Any], topology: tuple[int | None, int | None]
) -> None:
    found = Topology.of(environment)
    assert (found.cores, found.cpus) == topology
