"""Costs of storage, cross-checked: the bytes counted for processes against the disks and against the log.

`write_bytes` of /proc/PID/io grows when a page of a file becomes dirty in memory, and does not shrink when
the file is deleted before the page is written (Linux, Documentation/filesystems/proc.rst). The disks count
what reached them, for all processes together. A cost is left out of the whole study where, under any option,
the processes' bytes per transaction are more than twice those of all disks, or of the server's log where that
is more: the log is what the server itself wrote. Not checked: without any disk, on a network filesystem.
"""

from steelyard.analysis.judgement import Metric, Notice
from steelyard.analysis.metrics.measured import Source, as_rows, sources
from steelyard.bundle.evidence import Evidence
from steelyard.quantities import listed, quantity

_FACTOR_MAX = 2.0
# filesystems without storage
_IN_MEMORY = ("tmpfs", "ramfs")
# their bytes reach disks of another machine
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "fuse.sshfs", "fuse.glusterfs")


# bytes per transaction of each cost of storage, over all runs of an option: counted for processes, by all
# disks of the machine, and written to the log (0 where that is unknown, or the cost is one of reading)
_MOVED = """
    with sources as (select unnest($sources, recursive := true)),
    work as (select option, sum(transactions / seconds) as per_s from points group by option),
    grown as (
        select option, place, sum(rate_per_s) as per_s
        from sources s join rates r on r.monitor = s.monitor and r.metric = s.counter
            and of_entity(r.entity, s.entity) join points using (run, point)
        group by option, place
    ), disks as (
        select option, metric as counter, sum(rate_per_s) as per_s from rates join points using (run, point)
        where monitor = 'host' and starts_with(entity, 'disk:') group by option, metric
    ), logs as (
        select option, 'written_bytes_total' as counter, sum(per_s) as per_s
        from grown join sources using (place) where kind = 'log' group by option
    ), moved as (
        select option, s.place, s.name, smallest_effect, ratio(g.per_s, w.per_s) as counted,
            ratio(d.per_s, w.per_s) as disks, greatest(disks, ratio(l.per_s, w.per_s)) as proven
        from work w cross join sources s left join grown g using (option, place)
            left join disks d using (option, counter) left join logs l using (option, counter)
        where s.kind = 'storage'
    )
    select name, list(option order by option), list(coalesce(disks, 'nan') order by option),
        list(coalesce(counted, 'nan') order by option)
    from moved group by name
    having bool_or(disks is not null and counted > greatest($most * proven, proven + smallest_effect))
    order by min(place)
"""


def without_storage(evidence: Evidence) -> set[str]:
    """Names of the costs of storage that do not count in this study."""
    if evidence.storage.get("filesystem") in _IN_MEMORY:
        return {source.metric.name for source in _of_kind(evidence, "storage")}
    return {metric.name for metric, _ in contradicted(evidence)}


def storage_notices(evidence: Evidence) -> list[Notice]:
    """Which costs of storage are disregarded, and why."""
    if evidence.storage.get("filesystem") in _IN_MEMORY:
        subject = evidence.study.subject
        served = evidence.workload.WHO == "server" and subject.kind != "null" and not subject.dsn
        folder, kind = evidence.storage.get("data_dir", "data"), evidence.storage["filesystem"]
        text = f"the data folder {folder} is on {kind}, which is memory: nothing is written to storage"
        return [Notice("storage-in-memory", text)] if served else []
    return [
        Notice(
            "storage-contradicted",
            f"{metric.title} are disregarded: the disks moved less than half of what was counted"
            f" ({listed(moved)} {metric.each})",
        )
        for metric, moved in contradicted(evidence)
    ]


def contradicted(evidence: Evidence) -> list[tuple[Metric, list[str]]]:
    """Costs of storage that the disks contradict under an option; less than the smallest effect is no matter.

    Each with `under A 9.17 KiB of 18.7 KiB`, of every option: they may differ in what the disks moved.
    """
    found = [*_of_kind(evidence, "storage"), *_of_kind(evidence, "log")]
    if not found or evidence.storage.get("filesystem") in _NETWORK:
        return []
    metrics = {source.metric.name: source.metric for source in found}
    return [
        (
            metrics[name],
            [
                f"under {option} {quantity(disks, 'bytes')} of {quantity(counted, 'bytes')}"
                for option, disks, counted in zip(*lists, strict=True)
            ],
        )
        for name, *lists in evidence.rows(_MOVED, sources=as_rows(found), most=_FACTOR_MAX)
    ]


def _of_kind(evidence: Evidence, kind: str) -> list[Source]:
    return [source for source in sources(evidence.declared) if source.metric.kind == kind]
