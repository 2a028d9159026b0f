"""Notices on kinds of transactions: retries, new orders, growth of the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.load.served import (
    MOST_PER_MINUTE,
    derived_rate_notices,
    report_notices,
    reports_beside,
    retry_notices,
)
from steelyard.analysis.validity.stability import growth_notices
from steelyard.study.workloads.derived import BrokerageWorkload, OrderEntryWorkload
from steelyard.workloads.order_entry.transactions import transactions

PLAIN = evidence_of(study_of({"isolation": ["RC", "SER"]}), {"RC": Truth(), "SER": Truth()}, blocks=2)
RUNS = PLAIN.view("runs")["run"]
SERIALIZABLE = np.array([option == "SER" for option in PLAIN.view("runs")["option"].tolist()])


def test_retries_are_given_per_transaction_of_each_kind() -> None:
    kinds = {
        "run": np.concatenate([RUNS, RUNS]),
        "point": np.zeros(2 * len(RUNS)),
        "transaction": np.array(["new-order"] * len(RUNS) + ["payment"] * len(RUNS)),
        "count": np.full(2 * len(RUNS), 100.0),
        "retries": np.concatenate([np.where(SERIALIZABLE, 250.0, 0.0), np.where(SERIALIZABLE, 30.0, 0.0)]),
    }
    (notice,) = retry_notices(changed(PLAIN, kinds=kinds))
    assert (notice.code, notice.subject) == ("retries", "SER")
    assert notice.detail == "new-order 2.50, payment 0.300"
    assert retry_notices(PLAIN) == []


def test_new_orders_and_trade_results_per_second_are_those_of_their_workloads_alone() -> None:
    latency = {name: values[: len(RUNS)] for name, values in PLAIN.view("latency").items()}
    latency |= {
        "run": RUNS,
        "point": np.zeros(len(RUNS), dtype=np.int64),
        "statement": np.array(["transaction new-order"] * len(RUNS)),
        "count": np.full(len(RUNS), 4500.0),
    }
    evidence = changed(PLAIN, latency=latency)
    assert derived_rate_notices(evidence) == []
    study = evidence.study.model_copy(update={"workload": OrderEntryWorkload(kind="order-entry")})
    first, _ = derived_rate_notices(replace(evidence, study=study))
    seconds, clients = float(PLAIN.view("points")["seconds"][0]), int(PLAIN.view("points")["clients"][0])
    assert float(first.detail.split("/s")[0].replace(",", "")) == round(4500 / seconds, 0)
    assert first.detail.endswith(f"at {clients} client{'s' * (clients != 1)}")
    assert first.code == "new-orders"
    study = study.model_copy(update={"workload": BrokerageWorkload(kind="brokerage")})
    latency["statement"] = np.array(["transaction trade-result"] * len(RUNS))
    found = derived_rate_notices(changed(evidence, study=study, latency=latency))
    assert [notice.code for notice in found] == ["trade-results"] * 2 and found[0].detail == first.detail


def test_keying_and_think_times_leave_room_for_a_number_of_new_orders() -> None:
    seconds = float(PLAIN.view("points")["seconds"][0])
    latency = {name: values[: len(RUNS)] for name, values in PLAIN.view("latency").items()}
    latency |= {
        "run": RUNS,
        "point": np.zeros(len(RUNS), dtype=np.int64),
        "statement": np.array(["transaction new-order"] * len(RUNS)),
        "count": np.full(len(RUNS), 2000 * 12.86 / 60 * seconds * 0.9),
    }
    workload = OrderEntryWorkload(kind="order-entry", waits=True, warehouses=2000)
    options = tuple(replace(option, workload=workload) for option in PLAIN.options)
    study = PLAIN.study.model_copy(update={"workload": workload})
    first, _ = derived_rate_notices(changed(PLAIN, study=study, options=options, latency=latency))
    assert first.detail.endswith(", efficiency 90.0 % of 12.86 per minute and warehouse")
    # the constant follows from the waits and the mix: ten clients, each busy with waits alone
    kinds = transactions(workload)[1].values()
    cycle_s = sum(kind.weight * (kind.keying_ms + kind.think_ms) for kind in kinds) / 1e3 / 100
    assert round(10 * 60 / cycle_s * 0.45, 2) == MOST_PER_MINUTE


def test_reports_are_set_against_those_under_the_baseline() -> None:
    latency = {name: values[: len(RUNS)] for name, values in PLAIN.view("latency").items()}
    latency |= {
        "run": RUNS,
        "point": np.zeros(len(RUNS), dtype=np.int64),
        "statement": np.array(["transaction report"] * len(RUNS)),
        "count": np.where(SERIALIZABLE, 30.0, 100.0),
        "mean_ns": np.full(len(RUNS), 8e7),
    }
    evidence = changed(PLAIN, latency=latency)
    assert report_notices(evidence) == [] and reports_beside(evidence) == ""
    workload = OrderEntryWorkload(kind="order-entry", report_clients=1)
    study = PLAIN.study.model_copy(update={"workload": workload})
    assert reports_beside(replace(evidence, study=study)).endswith("/s (−70.0 %).")
    found = {notice.subject: notice for notice in report_notices(replace(evidence, study=study))}
    baseline, other = found["RC"], found["SER"]
    assert baseline.detail.endswith("mean 80.0 ms")
    assert other.detail.endswith(", mean 80.0 ms (−70.0 % against RC)")


def test_growth_is_a_share_of_the_rows_as_loaded() -> None:
    nothing = np.full(2 * len(RUNS), np.nan)
    gauges = {
        **dict.fromkeys(PLAIN.view("gauges"), nothing),
        "run": np.concatenate([RUNS, RUNS]),
        "monitor": np.array(["data"] * 2 * len(RUNS)),
        "entity": np.array(["orders"] * 2 * len(RUNS)),
        "metric": np.array(["rows"] * len(RUNS) + ["rows_loaded"] * len(RUNS)),
        "gone": np.concatenate([np.where(SERIALIZABLE, 30_600.0, 33_000.0), np.full(len(RUNS), 30_000.0)]),
    }
    found = {notice.subject: notice.detail for notice in growth_notices(changed(PLAIN, gauges=gauges))}
    assert found == {"RC": "orders by 10.0 %", "SER": "orders by 2.00 %"}
    assert growth_notices(PLAIN) == []
