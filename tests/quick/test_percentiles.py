"""Latencies as numbers in `sql` and in exported files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from histograms import histogram

from declared import METRICS
from steelyard.bundle.export import export
from steelyard.bundle.reader import Bundle
from steelyard.bundle.writer import BundleWriter
from steelyard.cli.sql import command
from steelyard.run_tables.schema import PERCENTILES
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options

STUDY = """
name = "latencies"
question = "Which?"
subject.kind = "null"
workload.kind = "lookup"
factors.f = { scope = "client", setting = "handle", levels = { A = "none", B = "named" } }
plan = { clients = [2], blocks = 1, measure_s = 1 }
"""
# 100 transactions: the 50th, 90th, 95th and 99th of these values, and the slowest
VALUES = {100: 50, 200: 40, 300: 5, 400: 4, 500: 1}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = parse_study(STUDY, "latencies")
    writer = BundleWriter.create(tmp_path_factory.mktemp("p") / "b", STUDY, options(study), "A", METRICS)
    for number, option in enumerate("AB", start=1):
        writer.write_run(
            number,
            {"f": option},
            {
                "runs": {
                    "option": [option], "block": [1], "slot": [number], "attempt": [1], "status": ["done"],
                    "cause": [""], "started_at": ["2026-01-01T00:00:00+00:00"], "seconds": [1.0],
                },
                "phases": {
                    "point": [0], "clients": [2], "phase": ["measure"], "start_ns": [0], "end_ns": [10**9],
                },
                "latency": {
                    "point": [0, 0, 0], "statement": ["transaction", "lookup", "never"],
                    "count": [100, 100, 0],
                    "histogram": [histogram(VALUES), histogram({7: 100}), histogram({})],
                },
                "clients": {
                    "point": [0, 0], "client": [0, 1], "transactions": [60, 40], "errors": [0, 0],
                    "mean_ns": [1.0, 2.0], "p99_ns": [450.0, 350.0],
                },
            },
        )  # fmt: skip
    return writer.path


def test_percentiles_of_runs_statements_and_clients_are_numbers_in_sql(bundle: Path) -> None:
    query = "select * exclude run from percentiles where run = 2 order by statement, client nulls first"
    asked = CliRunner().invoke(command, [str(bundle), query, "--json"])
    rows = [tuple(row.values()) for row in json.loads(asked.stdout)]
    assert rows == [
        (0, "lookup", None, 7, 7, 7, 7, 7, 7),
        (0, "transaction", None, 100, 200, 300, 400, 500, 500),
        (0, "transaction", 0, None, None, None, 450, None, None),
        (0, "transaction", 1, None, None, None, 350, None, None),
    ]


def test_the_view_has_the_columns_that_the_reference_describes(bundle: Path) -> None:
    found = Bundle(bundle).duckdb.execute("describe percentiles").fetchall()
    assert [(name, kind) for name, kind, *_ in found] == [(c.name, c.type) for c in PERCENTILES.columns]


def test_percentiles_are_exported_as_numbers(bundle: Path, tmp_path: Path) -> None:
    (text,) = export(Bundle(bundle), tmp_path, "csv", ["percentiles"])
    with text.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {float(row["p99_ns"]) for row in rows} == {7, 350, 400, 450}
    (columns,) = export(Bundle(bundle), tmp_path, "parquet", ["percentiles"])
    found = duckdb.sql(f"select typeof(p50_ns), max(p50_ns) from '{columns}' group by 1").fetchall()
    assert found == [("DOUBLE", 100.0)]


def test_a_damaged_histogram_is_a_message(bundle: Path) -> None:
    asked = CliRunner().invoke(command, [str(bundle), "select latency_ns('\\x01'::blob)"])
    assert "latency" in str(asked.exception)
    assert type(asked.exception).__name__ == "InputError"
