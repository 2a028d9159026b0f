"""The SQL that creates and fills the tables of a study, for a server at an address."""

from pathlib import Path

from steelyard.errors import InputError
from steelyard.study.study import Study
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.subjects import kind_of
from steelyard.workloads import work_of


def load_statements(study: Study) -> list[str | Path]:
    """SQL and data files that create and fill the tables of the workload. Raises InputError."""
    kind, work = kind_of(study), work_of(study.workload)
    if kind.load_statements is None:
        raise InputError(f"{kind.name} has no tables to fill", at=("subject", "kind"))
    if work.files:
        raise InputError(
            f"tables of this workload are loaded from files: {', '.join(table.name for table in work.files)}",
            "fill them from the files of tpchgen-cli, with the same columns"
            if isinstance(study.workload, QueriesWorkload)
            else "leave subject.dsn out: the lab fills the tables of servers that it starts",
            ("workload", "kind"),
        )
    if work.data is not None and (command := kind.no_sql(work.data)):
        raise InputError(f"{work.data} is no SQL", command, ("workload", "data_file"))
    return kind.load_statements(work)
