"""A study ready to run: read and checked, its options and the order of its runs made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.lab.machine.refused_settings import permitted
from steelyard.monitors import MONITORS
from steelyard.recordings.model import catalogue as published
from steelyard.study.errors import InputError, nearest
from steelyard.study.factors import check_effects
from steelyard.study.host_settings import boot_of
from steelyard.study.load_study import located, parse_study
from steelyard.study.plan import Option, Slot, blocks, options, with_absent_words, workload_of
from steelyard.study.spec import Reboots, Study
from steelyard.subjects import boots_apart, check
from steelyard.workloads import work_of
from steelyard.workloads.load_plan import check_load


@dataclass(frozen=True)
class Assignment:
    """A study ready to run. options: in the order of the study; blocks: all of them, planned.

    refused: what this machine refuses of the study's host settings, a sentence each.
    """

    study: Study
    text: str
    origin: str
    options: Sequence[Option]
    blocks: Sequence[Sequence[Slot]]
    refused: Sequence[str] = ()

    @property
    def boots(self) -> bool:
        """Whether options want this machine booted in their own way."""
        return boots_apart(self.study) and any(boot_of(o.changes.get("host", {})) for o in self.options)

    @classmethod
    def of(cls, text: str, origin: str) -> Assignment:
        """Plans the study in a text; origin: its name in messages. Raises InputError."""
        study = parse_study(text, origin)
        found = options(study)
        with located(text, origin):
            workloads = [workload_of(study, option) for option in found]
            for option, workload in zip(found, workloads, strict=True):
                check_load(study, option, work_of(workload))
            check_effects(study, workloads, [option.levels for option in found])
            for name in study.monitors or ():
                if name not in MONITORS:
                    raise InputError(f'no monitor "{name}"{nearest(name, MONITORS)}', at=("monitors", name))
            for name in study.overlay:
                if name not in published():
                    raise InputError(f'no recording "{name}"{nearest(name, published())}', at=("overlay",))
            check(study)
            if boots_apart(study):
                found = with_absent_words(found)
            found, refused = permitted(study, found)
            order = list(blocks(study, found, boots_apart(study)))
            assignment = cls(study, text, origin, found, order, refused)
            if study.reboots != Reboots() and not assignment.boots:
                raise InputError(
                    "has no effect: no option wants this machine booted in its own way",
                    "leave it out",
                    ("reboots",),
                )
        return assignment
