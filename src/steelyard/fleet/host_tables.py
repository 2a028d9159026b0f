"""What is kept of each host beside the merged result: its clock, its counts, its latencies, its monitors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.fleet.clocks import Offset, drift_ns
from steelyard.fleet.merge import Part, began_ns
from steelyard.run_tables.rows import Columns, Rows

_WHOLE = "transaction"


def host_tables(parts: Sequence[Part], after: Mapping[str, Offset]) -> dict[str, Columns]:
    """The tables hosts, host_load and host_samples; after: offsets when the run was over."""
    hosts, load, samples = Rows("hosts"), Rows("host_load"), Rows("host_samples")
    for part in parts:
        later = after[part.host]
        hosts.add(
            host=part.host,
            offset_ns=part.clock.offset_ns,
            bound_ns=part.clock.bound_ns,
            drift_ns=drift_ns(part.clock, later),
            drift_bound_ns=part.clock.bound_ns + later.bound_ns,
            drift_after_ns=later.at_ns - part.clock.at_ns,
        )
        _add_load(load, part)
        for own in (part.own.samples, part.own.result.tables["samples"]):
            columns = (own[name] for name in ("t_ns", "monitor", "entity", "metric", "value"))
            for t_ns, monitor, entity, metric, value in zip(*columns, strict=True):
                samples.add(
                    host=part.host,
                    t_ns=part.clock.to_lab(t_ns),
                    monitor=monitor,
                    entity=entity,
                    metric=metric,
                    value=value,
                )
    return {"hosts": hosts.columns(), "host_load": load.columns(), "host_samples": samples.columns()}


def _add_load(load: Rows, part: Part) -> None:
    """A row per load point: its clients, its transactions, their latency."""
    tables = part.own.result.tables
    clients, latency = tables["clients"], tables["latency"]
    histograms = {
        point: histogram
        for point, statement, histogram in zip(
            latency["point"], latency["statement"], latency["histogram"], strict=True
        )
        if statement == _WHOLE
    }
    for point, began in enumerate(began_ns(part)):
        own = [
            (done, errors)
            for at, done, errors in zip(
                clients["point"], clients["transactions"], clients["errors"], strict=True
            )
            if at == point
        ]
        load.add(
            host=part.host,
            point=point,
            clients=len(own),
            transactions=sum(done for done, _ in own),
            errors=sum(errors for _, errors in own),
            began_ns=began,
            histogram=histograms[point],
        )
