"""The keys of a schedule: which file belongs to which option, block and load point, and by which clock."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from steelyard.study.key_types import Form, KeyName, Label, Strict, StudyName
from steelyard.study.workloads.published import Answered

OptionLabel = Annotated[
    str,
    Form(
        r"^[A-Za-z0-9.+-]{1,24}(_[A-Za-z0-9.+-]{1,24})*$",
        "invalid option: use letters, digits, '.', '+' and '-' (1 to 24 characters), `_` between factors",
    ),
]


class OptionFiles(Strict):
    """The files of one option; runs and blocks follow from folders and times."""

    files: list[str] = Field(min_length=1)
    """names or patterns, in the folder of the schedule"""
    version: str = ""
    """name and version of the server"""


class RunFiles(Strict):
    """The files of one run."""

    option: OptionLabel
    """which option ran"""
    block: int = Field(ge=1, le=10_000)
    """number of the block: each option runs once per block"""
    clients: int | None = Field(default=None, ge=1, le=10_000)
    """load point, where the files do not tell"""
    began: str | None = None
    """when the run began, ISO 8601, for files that do not tell: 2026-03-01T14:56:00"""
    seconds: float | None = Field(default=None, gt=0, le=1e9)
    """length of the run, for files that do not tell"""
    files: list[str] = Field(min_length=1)
    """names or patterns"""


class FileChoice(Strict):
    """What some files do not say of themselves."""

    files: str
    """name or pattern"""
    format: str | None = None
    """name of the format; default: recognised"""
    seventh: Literal["lag", "retries"] | None = None
    """7th column of a log of pgbench"""
    since_boot: bool | None = None
    """false: the first reading of iostat or vmstat is of an interval, as with -y, and not since the boot"""
    utc_offset_minutes: float | None = Field(default=None, ge=-1440, le=1440)
    """of the file's times, which name no zone"""
    ahead_s: float = Field(default=0.0, ge=-1e9, le=1e9)
    """by how much that machine's clock is ahead"""


NO_CHOICE = FileChoice(files="")


class MetricColumn(Strict):
    """One column of numbers. A column without its unit is not read."""

    column: str
    """name of the column; of JSON lines, of the key"""
    metric: Label
    """its name in the report; `throughput` is the work per second"""
    unit: Label
    """its unit: ms, 1/s, %"""
    better: Literal["higher", "lower", "neither"] = "neither"
    """of `throughput` it is higher"""


class TableFile(Strict):
    """A table of results: CSV, Parquet or JSON lines, one row per run and load point."""

    file: str
    """name of the file"""
    query: str = ""
    """a SELECT from `rows`, those of the file; the other keys then name columns of its result"""
    into: Literal["", "latches", "locks", "profile"] = ""
    """table of the bundle to which all other columns belong, by their names there; the load points are those
    of a table above"""
    option: str = "option"
    """column of the option; its values become codes"""
    block: str | None = None
    """column of the block; default: the rows are counted"""
    clients: str | None = None
    """column of the number of clients"""
    seconds: str | None = None
    """column of the length of the interval, in seconds"""
    metrics: list[MetricColumn] = []
    """columns of numbers; needed without `into`"""


class Words(Answered):
    """Names for what was done, and what the tables answer."""

    unit: Label = "transactions/s"
    """of the throughput"""
    work: Label = "transaction"
    """name of one unit of work"""
    client: Label | None = None
    """name of one client; default: client"""
    clients: Label | None = None
    """its plural"""


class Schedule(Strict):
    """The whole file."""

    name: StudyName = "recording"
    """name of the study"""
    question: str = Field(default="", max_length=1000)
    """what the recording answers"""
    source: str = ""
    """who measured it, where and when"""
    version: str = ""
    """name and version of the server, where an option gives none"""
    baseline: OptionLabel | None = None
    """the option that the others are compared with"""
    smallest_effect_percent: float = Field(default=3.0, ge=0.001, lt=100)
    """the smallest difference that matters"""
    options: dict[OptionLabel, OptionFiles] = {}
    runs: list[RunFiles] = []
    choices: list[FileChoice] = []
    tables: list[TableFile] = []
    factors: list[KeyName] = []
    """names of the parts of an option, which `_` divides; default: those of levels, or part_1, part_2"""
    levels: dict[KeyName, dict[str, str]] = {}
    """by name of a part, what its codes stand for"""
    workload: Words = Words()
    environment: dict[str, Any] = {}
    """facts of the machine, as environment.json of a bundle has them"""


EXAMPLE = Path(__file__).with_name("example.toml").read_text("utf-8")
