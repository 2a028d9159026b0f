"""What a rehearsal has found: the table `rehearsal`, refusals, and what it did not try."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.errors import InputError
from steelyard.quantities import count
from steelyard.run_tables.rows import Columns
from steelyard.study.study import Option

Row = Mapping[str, Any]

_STEPS = ("server", "statement", "monitor", "host setting", "probe")


@dataclass
class Findings:
    """rows: of the table; errors: refusals; not_tried: what only a run can show, as clauses.

    trials: by option, each a row of `_core.load_trial`; again: of the baseline, a second time. wrote:
    transactions in which the server has written. by_chance: names of what gives other rows for equal values.
    priming_s: what the new connections of an option take
    before their load; one_after_another: why the options take no turns, as a clause.
    """

    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    errors: list[InputError] = field(default_factory=list[InputError])
    not_tried: list[str] = field(default_factory=list[str])
    trials: dict[str, Sequence[Row]] = field(default_factory=dict[str, Sequence[Row]])
    again: Sequence[Row] = ()
    wrote: set[str] = field(default_factory=set[str])
    by_chance: set[str] = field(default_factory=set[str])
    priming_s: float = 0.0
    one_after_another: str = ""
    seconds: float = 0.0

    def add(
        self, option: Option, step: str, name: str, answer: str, took_ns: int, plan: str | None = None,
        draws: int | None = None, rows: float | None = None,
    ) -> None:  # fmt: skip
        """A row of the table. answer: '' where the step succeeded."""
        row = {"option": option.label, "step": step, "statement": name, "answer": answer}
        self.rows.append({**row, "seconds": took_ns / 1e9, "plan": plan, "draws": draws, "rows": rows})

    @property
    def tables(self) -> dict[str, Columns]:
        """The table `rehearsal`, if it has rows."""
        if not self.rows:
            return {}
        return {"rehearsal": {name: [row[name] for row in self.rows] for name in self.rows[0]}}

    def lines(self) -> Iterator[tuple[str, str]]:
        """For the plan: what was tried, what failed and may fail in the runs, what was not tried."""
        tried = [step for step, _ in {(row["step"], row["statement"]) for row in self.rows}]
        parts = [count(tried.count(step), step) for step in _STEPS if step in tried]
        if self.one_after_another:
            yield "order", f"one run after another within a block, because {self.one_after_another}"
        yield "tried", f"{', '.join(parts) or 'nothing'}, in {self.seconds:.1f} s"
        failed = [
            f"{r['step']} {r['statement']}: {r['answer']}"
            for r in self.rows
            if r["answer"] and r["step"] in _STEPS
        ]
        for name, texts in (("answers", failed), ("untried", self.not_tried)):
            if texts:
                yield name, "; ".join(dict.fromkeys(texts))

    def refusals(self) -> list[InputError]:
        """Each refusal once: what several options share is said of the first."""
        found: dict[tuple[object, str], InputError] = {}
        for error in self.errors:
            found.setdefault((error.at, re.sub(r"option \S+: ", "", str(error))), error)
        return list(found.values())
