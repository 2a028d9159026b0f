"""The resolution of this machine, as the newest study in a folder measured it."""

from pathlib import Path

from steelyard import quantities as fmt
from steelyard.analysis.comparison.stopping import stopped, whole_blocks
from steelyard.analysis.comparison.unlike import SERVER_VERSION, unlike_facts
from steelyard.analysis.judge import judge
from steelyard.bundle.evidence import Facts
from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.host.finding import Finding
from steelyard.workflow.complaint import program

_NAME = "resolution"
# facts of a study beside those of its machine
_OF_STUDY = ("placement.server_cpus", "placement.engine_cpus", SERVER_VERSION, "steelyard.version")
# a bundle of long ago says little of the machine as it is now
_BUNDLES_MAX = 10


def resolution_finding(folder: Path, environment: Facts) -> Finding:
    """From the folder's newest finished bundle of this machine (environment) that has a resolution."""
    for path in _newest(folder)[:_BUNDLES_MAX]:
        try:
            if text := _resolution(path, environment):
                again = f"the same option twice, now: {program()} run aa"
                return Finding(_NAME, "ok", text, f"nothing to do; {again}")
        except InputError:
            continue
    text = "unknown: no finished study of this machine in this folder shows it"
    return Finding(_NAME, "optional", text, f"{program()} run aa, which compares an option with itself")


def _newest(folder: Path) -> list[Path]:
    def written_s(path: Path) -> float:
        try:
            return (path / "runs").stat().st_mtime
        except OSError:
            return 0.0

    found = (path for path in folder.glob("*.bundle") if (path / "bundle.json").is_file())
    return sorted(found, key=written_s, reverse=True)


def _resolution(path: Path, environment: Facts) -> str:
    """As a sentence; '' for a bundle of another machine, a clock of its own, or without a resolution."""
    bundle = Bundle(path)
    study = bundle.study
    own = study.subject.kind == "recording" or study.workload.simulated
    if own or unlike_facts(bundle.environment, environment, _OF_STUDY):
        return ""
    evidence = bundle.evidence()
    blocks = whole_blocks(evidence)
    if blocks < study.plan.blocks and not stopped(evidence):
        return ""
    judgement = judge(evidence)
    precision, foremost = judgement.precision, judgement.headlines.foremost
    if precision.resolution_percent is None or foremost is None:
        return ""
    size = f"{fmt.count(blocks, 'block')} of {fmt.count(len(evidence.options), 'option')}"
    return f"{path.name} ({size}) {precision.resolution(foremost.title)}"
