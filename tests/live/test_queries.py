"""Decision support: servers give the answers of DuckDB, which it published or finds in the same data."""

from __future__ import annotations

from pathlib import Path

import pytest
from laboratory import Lab
from query_answers import POSTGRES, check_answers, duckdb_answers, postgres

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.study.load_study import parse_study
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.workloads import decision_support, work_of


@pytest.mark.timeout(600)
def test_a_server_gives_duckdbs_answers_to_the_same_data_and_the_published_ones(
    lab: Lab, tmp_path: Path
) -> None:
    check_answers(postgres, lab, duckdb_answers(tmp_path))


def test_every_stream_executes_every_query_once_and_is_not_cut_off(lab: Lab) -> None:
    study = lab.folder / "q.toml"
    study.write_text(POSTGRES)
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    rows = bundle.duckdb.execute(
        "select clients, statement, count from latency join measures using (run, point)"
    ).fetchall()
    names = {*decision_support.queries(), "transaction"}
    # each round takes longer than measure_s, so each stream has made exactly one
    assert {(clients, name, clients) for clients in (1, 2) for name in names} == set(rows)
    assert lab.ours() == [] and lab.traces() == []


def test_streams_differ_in_order_and_in_nothing_else() -> None:
    names = list(decision_support.queries())
    workload = QueriesWorkload(kind="queries")
    orders = workload.orders(names, 5, seed=7)
    assert orders[0] == names and len({tuple(order) for order in orders}) == 5
    assert all(sorted(order) == names for order in orders)
    # a study with more streams has those of one with fewer
    assert workload.orders(names, 9, seed=7)[:5] == orders and workload.orders(names, 5, seed=8) != orders


def test_a_scale_factor_that_does_not_fit_is_refused_with_one_that_does() -> None:
    text = POSTGRES.replace("scale_factor = 0.01", "scale_factor = 300")
    workload = parse_study(text, "study").workload
    with pytest.raises(InputError) as refused:
        work_of(workload)
    assert "scale factor 300 needs about 1.5e+03 GB" in str(refused.value)
    proposed = float(refused.value.hint.removeprefix("scale_factor = ").removesuffix(" fits"))
    fitting = workload.model_copy(update={"scale_factor": proposed})
    assert work_of(fitting).files[-1].name == "lineitem" and proposed < 300
