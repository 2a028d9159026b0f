"""What work in the background got done beside the measured work, which it is no part of."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.analysis.judgement.results import Notice
from steelyard.bundle.evidence.evidence import Evidence
from steelyard.quantities import change, quantity, significant

_REPORT = "transaction report"

# sums over the runs of an option at one number of clients
_Sums = dict[str, dict[int, "_Done"]]


class _Done:
    def __init__(self) -> None:
        self.count, self.seconds, self.sum_ns = 0.0, 0.0, 0.0

    @property
    def per_s(self) -> float:
        return self.count / self.seconds


def report_notices(evidence: Evidence) -> list[Notice]:
    """reports: one per option; detail: `11.2/s at 9 clients, mean 89 ms (−38.0 % against SAME)`; none
    without reporting clients.
    """
    if not evidence.study.workload.background_clients:
        return []
    found = _sums(evidence)
    text = "reports beside order entry, whose transactions and latency do not count them"
    return [
        Notice("reports", text, option, detail="; ".join(_details(evidence, found, option)))
        for option in found
    ]


def reports_beside(evidence: Evidence) -> str:
    """`Reports beside it: SAME 3.00/s, NICE+10 1.12/s (−62.5 %).`, over all load points; '' without any."""
    if not evidence.study.workload.background_clients:
        return ""
    sums = {label: by.values() for label, by in _sums(evidence).items()}
    rates = {
        option.label: sum(one.count for one in found) / sum(one.seconds for one in found)
        for option in evidence.options
        if (found := sums.get(option.label))
    }
    baseline = rates.get(evidence.baseline, 0.0)
    parts = [
        f"{option} {significant(rate)}/s"
        + (f" ({change(rate / baseline)})" if baseline and option != evidence.baseline else "")
        for option, rate in rates.items()
    ]
    return f"Reports beside it: {', '.join(parts)}."


def _details(evidence: Evidence, found: Mapping[str, Mapping[int, _Done]], option: str) -> list[str]:
    baseline = found.get(evidence.baseline, {})
    parts: list[str] = []
    for clients, done in found[option].items():
        part = f"{significant(done.per_s)}/s at {evidence.study.workload.counted(clients)}"
        mean = quantity(done.sum_ns / done.count, "ns") if done.count else ""
        part += f", mean {mean}" if mean else ""
        other = baseline.get(clients)
        if option != evidence.baseline and other is not None and other.count:
            part += f" ({change(done.per_s / other.per_s)} against {evidence.baseline})"
        parts.append(part)
    return parts


def _sums(evidence: Evidence) -> _Sums:
    options = dict(
        zip(evidence.view("runs")["run"].tolist(), evidence.view("runs")["option"].tolist(), strict=True)
    )
    points, latency = evidence.view("points"), evidence.view("latency")
    places = zip(*(points[name].tolist() for name in ("run", "point", "clients", "seconds")), strict=True)
    place = {(run, point): (int(clients), seconds) for run, point, clients, seconds in places}
    found: _Sums = {}
    columns = (latency[name].tolist() for name in ("run", "point", "statement", "count", "mean_ns"))
    for run, point, statement, count, mean_ns in zip(*columns, strict=True):
        if statement == _REPORT:
            clients, seconds = place[run, point]
            done = found.setdefault(str(options[run]), {}).setdefault(clients, _Done())
            done.count += count
            done.seconds += seconds
            done.sum_ns += count * mean_ns if count else 0.0
    return found
