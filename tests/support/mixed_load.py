"""A study of reports beside order entry."""

from __future__ import annotations

STUDY = """\
name = "mixed"
question = "?"
[subject]
kind = "postgres"
durability = "off"
settings = {{ max_parallel_workers_per_gather = 0 }}
[workload]
kind = "order-entry"
report_clients = {reports}
deadline_ms = 60_000
[host]
sysctl.kernel.sched_autogroup_enabled = 0
[factors.reports]
scope = "host"
[factors.reports.levels]
SAME = {{ {role}.policy = "other" }}
LATE = {{ {role}.policy = "other", {role}.nice = 15 }}
[plan]
clients = [{clients}]
warm_up_s = 1
measure_s = 2
cool_down_s = 0.2
blocks = 1
"""


def study_text(reports: int = 1, clients: int = 4, role: str = "report") -> str:
    return STUDY.format(reports=reports, clients=clients, role=role)
