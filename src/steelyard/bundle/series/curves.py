"""Times by quantile: latencies of the load, holds and waits of a latch."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.bundle.evidence.histograms import file_in
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.columns import Columns
from steelyard.bundle.series.load import MEAN

_QUANTILES = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1.0]

_CURVES = f"""
    with chosen as ({{chosen}}), decoded as (
        select p.option, p.clients, h.* exclude (point, histogram),
            unnest({_QUANTILES}::DOUBLE[]) as quantile,
            unnest(quantiles_ns(histogram, {_QUANTILES}, {file_in("{table}")})) as ns
        from chosen h join points p using (run, point)
    )
    select * exclude (run, ns), {MEAN.format(x="ns")} as ns from decoded group by all
    order by min(run), clients, quantile
"""


def latency(bundle: Bundle, runs: Sequence[int]) -> Columns:
    """Latency by quantile: option, clients, quantile, ns (geometric mean over these runs)."""
    chosen = """
        select run, point, histogram from main.latency
        where statement = 'transaction' and list_contains($runs, run)
    """
    return bundle.measured(_CURVES.format(chosen=chosen, table="latency"), {"runs": list(runs)})


def latch_times(bundle: Bundle) -> Columns:
    """Times of a latch: option, clients, kind (hold, wait), quantile, ns (geometric mean over runs)."""
    # a live server has many latches, and waits only: not comparable with one latch
    chosen = """
        select run, point, kind, histogram from (unpivot (from main.latches where hold_histogram is not null)
            on hold_histogram as hold, wait_histogram as wait into name kind value histogram)
    """
    return bundle.measured(_CURVES.format(chosen=chosen, table="latches"))
