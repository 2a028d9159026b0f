"""A study of the dispatcher's simulation whose threads have the bursts that a bundle measured."""

import re
from pathlib import Path

from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import bursts
from steelyard.errors import InputError, nearest
from steelyard.quantities import significant
from steelyard.study.load_study import catalogue
from steelyard.study.workloads.derived import BrokerageWorkload

_STUDY = "dispatch-brokerage"
_GROUP = re.compile(r"(?ms)^# measured: .*?(?=^working_set_kib)")


def measured_study(path: Path, option: str | None) -> str:
    """The catalogue's study `dispatch-brokerage`, with the server's bursts and sleeps of the bundle's option;
    of another workload, under its study's name.

    option: label; None: the baseline, or else the first. Raises InputError.
    """
    bundle = Bundle(path)
    labels = [one.label for one in bundle.options]
    if option is not None and option not in labels:
        raise InputError(f'no option "{option}"{nearest(option, labels)}', f"one of: {', '.join(labels)}")
    chosen = option or bundle.study.plan.baseline or labels[0]
    found = bursts(bundle, chosen)
    text = (
        f"# measured: {found.count:,} bursts of a server's threads, study {bundle.study.name}, option"
        f" {chosen}\n[workload.groups.server]\ncpu = {_times(found.burst_us, found.burst_cv)}\n"
        f"sleep = {_times(found.sleep_us, found.sleep_cv)}\n"
    )
    study = catalogue()[_STUDY].read_text(encoding="utf-8")
    if not isinstance(bundle.study.workload, BrokerageWorkload):
        name = bundle.study.name
        question = f"Which dispatch table serves the server's threads of {name} better beside batch hogs?"
        head = f'name = "dispatch-{name}"\nquestion = "{question}"\n\n'
        study = head + study[study.index("[subject]") :]
    return _GROUP.sub(lambda _: text, study, count=1)


def _times(mean_us: float, variation: float) -> str:
    mean, cv = (significant(value).replace(",", "") for value in (mean_us, max(variation, 0.001)))
    return f'{{ kind = "lognormal", mean_us = {mean}, cv = {cv} }}'
