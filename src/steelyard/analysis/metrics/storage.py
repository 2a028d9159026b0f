"""Costs of storage, cross-checked: the bytes counted for processes against the disks and against the log.

`write_bytes` of /proc/PID/io grows when a page of a file becomes dirty in memory, and does not shrink when
the file is deleted before the page is written (Linux, Documentation/filesystems/proc.rst). The disks count
what reached them, for all processes together. A cost is left out of the whole study where, under any option,
the processes' bytes per transaction are more than twice those of all disks, or of the server's log where that
is more: the log is what the server itself wrote. Not checked: without any disk, on a network filesystem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.judgement.results import Metric, Notice
from steelyard.analysis.metrics.costs import Source, sources
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import listed, quantity

_FACTOR_MAX = 2.0
_IN_MEMORY = ("tmpfs", "ramfs")
# their bytes reach disks of another machine
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "fuse.sshfs", "fuse.glusterfs")
_WRITTEN = "written_bytes_total"


@dataclass(frozen=True)
class Contradicted:
    """A cost of storage that the disks contradict under one option. All in bytes per transaction.

    counted: for the server's processes. disks: by all disks of the machine; log: written to the server's log,
    0 where that is unknown or the cost is one of reading.
    """

    metric: Metric
    option: str
    counted: float
    disks: float
    log: float


def in_memory(evidence: Evidence) -> bool:
    """Whether the data folder is on a filesystem without storage."""
    return evidence.storage.get("filesystem") in _IN_MEMORY


def contradicted(evidence: Evidence) -> tuple[Contradicted, ...]:
    """Costs of storage that the disks contradict, by option; less than the smallest effect is no matter."""
    if evidence.storage.get("filesystem") in _NETWORK:
        return ()
    return tuple(_contradicted(evidence))


def without_storage(evidence: Evidence) -> set[str]:
    """Names of the costs of storage that do not count in this study."""
    if in_memory(evidence):
        return {source.metric.name for source in _of_kind(evidence, "storage")}
    return {found.metric.name for found in contradicted(evidence)}


def storage_notices(evidence: Evidence) -> list[Notice]:
    """Which costs of storage are disregarded, and why."""
    subject, workload = evidence.study.subject, evidence.study.workload
    if in_memory(evidence):
        served = workload.WHO == "server" and subject.kind != "null" and not subject.dsn
        folder, kind = evidence.storage.get("data_dir", "data"), evidence.storage["filesystem"]
        text = f"the data folder {folder} is on {kind}, which is memory: nothing is written to storage"
        return [Notice("storage-in-memory", text)] if served else []
    refuted = {found.metric.name: found.metric for found in contradicted(evidence)}
    return [
        Notice(
            "storage-contradicted",
            f"{metric.title} are disregarded: the disks moved less than half of what was counted"
            f" ({listed([*_moved(evidence, metric)])} {metric.each})",
        )
        for metric in refuted.values()
    ]


def _moved(evidence: Evidence, metric: Metric) -> Iterator[str]:
    """`under A 9.17 KiB of 18.7 KiB`, of every option: they may differ in what the disks moved."""
    (source,) = (source for source in _of_kind(evidence, "storage") if source.metric.name == metric.name)
    for option in sorted(set(map(str, evidence.view("runs")["option"]))):
        counted = _per_txn(evidence, option, source.monitor, source.entity, source.counter)
        disks = _per_txn(evidence, option, "host", "disk:", source.counter)
        yield f"under {option} {quantity(disks, 'bytes')} of {quantity(counted, 'bytes')}"


def _contradicted(evidence: Evidence) -> Iterator[Contradicted]:
    for source in _of_kind(evidence, "storage"):
        for option in dict.fromkeys(evidence.view("runs")["option"].tolist()):
            counted = _per_txn(evidence, option, source.monitor, source.entity, source.counter)
            disks = _per_txn(evidence, option, "host", "disk:", source.counter)
            logs = [
                _per_txn(evidence, option, log.monitor, log.entity, log.counter)
                for log in _of_kind(evidence, "log")
                if source.counter == _WRITTEN
            ]
            log = float(np.nansum(logs))
            proven = max(disks, log)
            if np.isfinite(disks) and counted > max(
                _FACTOR_MAX * proven, proven + source.metric.smallest_effect
            ):
                yield Contradicted(source.metric, str(option), counted, disks, log)


def _of_kind(evidence: Evidence, kind: str) -> list[Source]:
    return [source for source in sources(evidence.declared) if source.metric.kind == kind]


def _per_txn(evidence: Evidence, option: str, monitor: str, entity: str, counter: str) -> float:
    """Growth of a counter over all runs of an option per transaction; NaN where it was not read.

    entity: a name, or the prefix of several when it ends in ':'.
    """
    rates, points = evidence.view("rates"), evidence.view("points")
    mine = evidence.view("runs")["run"][evidence.view("runs")["option"] == option]
    seen = (rates["monitor"] == monitor) & (rates["metric"] == counter) & np.isin(rates["run"], mine)
    named = [
        n == entity or (entity.endswith(":") and n.startswith(entity)) for n in map(str, rates["entity"])
    ]
    values = np.asarray(rates["rate_per_s"][seen & np.asarray(named, dtype=bool)], dtype=np.float64)
    measured = np.isin(points["run"], mine)
    per_s = float((points["transactions"][measured] / points["seconds"][measured]).sum())
    known = values[np.isfinite(values)]
    return float(known.sum()) / per_s if len(known) and per_s > 0 else np.nan
