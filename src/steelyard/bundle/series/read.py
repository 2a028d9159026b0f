"""Reads the series of a bundle: those that its workload and its clock permit."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.bundle.evidence.evidence import counts_instructions
from steelyard.bundle.evidence.probes import stacks
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series import curves, dispatcher, load
from steelyard.bundle.series.columns import Columns, Series
from steelyard.bundle.series.counters import counters
from steelyard.bundle.series.gauges import gauges
from steelyard.study.workloads.threads import ThreadsWorkload


def read_series(bundle: Bundle, estimated: Sequence[int]) -> Series:
    """What the charts draw. Raises InputError.

    estimated: the runs behind the options' estimates, so that one metric reads alike in every table.
    """
    workload = bundle.study.workload
    profile = stacks(bundle, bundle.study.probes.profile_hz)
    if workload.in_rounds:
        # a few rounds have no meaningful rate per second, and each query has its own chart
        return Series(gauges=gauges(bundle), counters=counters(bundle), stacks=profile)
    if counts_instructions(bundle.environment):
        # a clock that counts instructions gives no time line
        return Series(stacks=profile)
    priorities: Columns = {}
    trace: Columns = {}
    if isinstance(workload, ThreadsWorkload):
        options = dispatcher.traced_options(bundle)
        priorities = dispatcher.priorities(bundle, workload.scaled, options)
        trace = dispatcher.trace(bundle, options)
    return Series(
        throughput=load.throughput(bundle),
        cpu=load.cpu(bundle),
        gauges=gauges(bundle),
        counters=counters(bundle),
        statements=load.statements(bundle, estimated),
        clients=load.clients(bundle, estimated),
        latency=curves.latency(bundle, estimated),
        latch_times=curves.latch_times(bundle),
        priorities=priorities,
        trace=trace,
        stacks=profile,
    )
