"""A server with the data of a workload, on which tests run a number of transactions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard import _core
from steelyard.host.cpus.scheduling import place
from steelyard.host.processes.guard import Guard
from steelyard.lab.engines.plan import engine_plan
from steelyard.study.load_study import plan_study
from steelyard.study.study import Option, Slot, Study
from steelyard.subjects import Bench, Load, Subject, kind_of
from steelyard.workloads import Work, work_of


@dataclass
class Running:
    """A server with the data as loaded, and how it works."""

    kind: str
    study: Study
    options: Mapping[str, Option]
    works: Mapping[str, Work]
    subject: Subject
    load: Load | None = None

    def start(self, label: str) -> None:
        """The data anew, with the option's schema."""
        self.subject.stop()
        self.load = self.subject.start(self.options[label])
        self.subject.reset()

    def number(self, sql: str) -> int:
        assert self.load is not None and self.load.server is not None and self.load.server.number is not None
        return self.load.server.number(sql)

    def effects(self, queries: Sequence[str]) -> list[int]:
        """Every sum, in hundredths."""
        found: list[int] = []
        for sql in queries:
            columns, _, rest = sql.removeprefix("select ").partition(" from ")
            found += [self.number(f"select {column} * 100 from {rest}") for column in columns.split(", ")]
        return found

    def violated(self, label: str, after_runs: bool) -> list[str]:
        conditions = [c for c in self.works[label].conditions if c.after_runs or not after_runs]
        return [condition.name for condition in conditions if self.number(condition.sql)]

    def run(self, label: str, clients: int, transactions: int, **changes: Any) -> dict[str, dict[str, int]]:
        """Columns of the table `transactions` by kind."""
        assert self.load is not None
        slot = Slot(1, 1, self.options[label])
        plan = engine_plan(self.study, slot, self.works[label], self.load)
        asked = {**plan, "points": [clients], "transactions_max": transactions, **changes}
        result = json.loads(_core.load_run(json.dumps(asked), lambda _: None))
        assert result["errors"]["message"] == [], result["errors"]
        table = result["transactions"]
        return {
            name: {column: table[column][number] for column in ("count", "errors", "retries", "rolled_back")}
            for number, name in enumerate(table["transaction"])
        }


@contextmanager
def running(kind: str, text: str) -> Generator[Running]:
    """The server of a study with these options."""
    study, found = plan_study(text, "study.toml")
    options = {option.label: option for option in found}
    works = {label: work_of(option.workload) for label, option in options.items()}
    # the path of a Unix socket has to be short
    with Guard() as guard, tempfile.TemporaryDirectory(prefix="sy-") as folder:
        subject = kind_of(study).make(Bench(study, found, works, Path(folder), place(1, False), guard))
        try:
            yield Running(kind, study, options, works, subject)
        finally:
            subject.stop()
