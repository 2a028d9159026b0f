"""Decision support, derived from TPC-H: eight tables, 22 queries, generated at a scale factor.

Not TPC-H, and not comparable with published TPC-H results: the queries carry fixed values, nothing is
refreshed, nothing is audited. TPC-H is a trademark of the Transaction Processing Performance Council.
Data by tpchgen-cli (https://github.com/datafusion-contrib/tpcgen-rs, Apache-2.0), which the package
requires; queries: see decision_support.sql. Indexes are those that TPC-H clause 1.5 permits
unconditionally: on primary keys and foreign keys.
"""

import os
import re
import shutil
import subprocess
import sysconfig
from functools import partial
from pathlib import Path

from steelyard.errors import InputError
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.study.workloads.statements import Statement
from steelyard.workloads import Layout, Work, check_disk_room

_PROGRAM = "tpchgen-cli"
_GENERATE_S = 7200
_QUERY = re.compile(r"^-- query: (\w+),.*\n((?:(?!^--).*\n)+)", re.MULTILINE)

# per scale factor: the data with indexes; the data, and CSV files, a copy and logs while loading
_DATA_BYTES_PER_SF = 2.0e9
_ROOM_BYTES_PER_SF = 5.0e9

# with indexes on foreign keys
_TABLES = {
    "region": Layout("r_regionkey integer, r_name char(25), r_comment varchar(152)", "r_regionkey", 0),
    "nation": Layout(
        "n_nationkey integer, n_name char(25), n_regionkey integer, n_comment varchar(152)",
        "n_nationkey",
        0,
        "n_regionkey",
    ),
    "part": Layout(
        "p_partkey integer, p_name varchar(55), p_mfgr char(25), p_brand char(10), p_type varchar(25),"
        " p_size integer, p_container char(10), p_retailprice decimal(15,2), p_comment varchar(23)",
        "p_partkey",
        0,
    ),
    "supplier": Layout(
        "s_suppkey integer, s_name char(25), s_address varchar(40), s_nationkey integer, s_phone char(15),"
        " s_acctbal decimal(15,2), s_comment varchar(101)",
        "s_suppkey",
        0,
        "s_nationkey",
    ),
    "partsupp": Layout(
        "ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost decimal(15,2),"
        " ps_comment varchar(199)",
        "ps_partkey, ps_suppkey",
        0,
        "ps_suppkey",
    ),
    "customer": Layout(
        "c_custkey integer, c_name varchar(25), c_address varchar(40), c_nationkey integer,"
        " c_phone char(15), c_acctbal decimal(15,2), c_mktsegment char(10), c_comment varchar(117)",
        "c_custkey",
        0,
        "c_nationkey",
    ),
    "orders": Layout(
        "o_orderkey integer, o_custkey integer, o_orderstatus char(1), o_totalprice decimal(15,2),"
        " o_orderdate date, o_orderpriority char(15), o_clerk char(15), o_shippriority integer,"
        " o_comment varchar(79)",
        "o_orderkey",
        0,
        "o_custkey",
    ),
    "lineitem": Layout(
        "l_orderkey integer, l_partkey integer, l_suppkey integer, l_linenumber integer,"
        " l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2),"
        " l_tax decimal(15,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date,"
        " l_commitdate date, l_receiptdate date, l_shipinstruct char(25), l_shipmode char(10),"
        " l_comment varchar(44)",
        "l_orderkey, l_linenumber",
        0,
        "l_partkey, l_suppkey; l_suppkey",
    ),
}


def decision_support(workload: QueriesWorkload) -> Work:
    """The tables at workload.scale_factor and the 22 queries. Raises InputError without enough disk space."""
    program = shutil.which(_PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(_PROGRAM)
    if program is None:
        raise InputError(
            f"the data generator {_PROGRAM} is not installed", f"pip install {_PROGRAM}", ("workload", "kind")
        )
    scale = workload.scale_factor
    check_disk_room(
        scale,
        _ROOM_BYTES_PER_SF,
        f"scale factor {scale:g}",
        lambda most: f"scale_factor = {_rounded_down(most):g}" if most >= 0.01 else "",
        ("workload", "scale_factor"),
    )
    return Work(
        statements=queries(),
        files=tuple(
            table.table(name, partial(_write, program, scale, name)) for name, table in _TABLES.items()
        ),
        read_only=True,
        remarks=tuple(_remarks(scale)),
    )


def queries() -> dict[str, Statement]:
    """The 22 queries by name: q01 to q22."""
    text = Path(__file__).with_name("decision_support.sql").read_text(encoding="utf-8")
    return {name: Statement(sql=sql.strip().rstrip(";")) for name, sql in _QUERY.findall(text)}


def _write(program: str, scale: float, table: str, folder: Path) -> Path:
    """Raises OSError with the message of the generator."""
    path = folder / f"{table}.csv"
    # of small tables most of the time is the generator's start: all are made at once
    if path.exists():
        return path
    command = [program, "csv", "--scale-factor", f"{scale:g}", "--tables", ",".join(_TABLES)]
    command += ["--output-dir", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_GENERATE_S)
    except subprocess.TimeoutExpired:
        raise OSError(f"{' '.join(command)} did not end within {_GENERATE_S} s") from None
    if done.returncode:
        raise OSError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
    return path


def _remarks(scale: float) -> list[str]:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if scale * _DATA_BYTES_PER_SF <= memory / 2:
        return []
    fits = _rounded_down(memory / 2 / _DATA_BYTES_PER_SF)
    return [
        f"the data, about {scale * _DATA_BYTES_PER_SF / 1e9:.3g} GB, fill more than half of the"
        f" {memory / 1e9:.3g} GB of memory, so storage is measured as well; scale factor {fits:g} fits"
    ]


def _rounded_down(value: float) -> float:
    """To one significant digit."""
    step = 10.0 ** int(f"{value:e}".partition("e")[2])
    return int(value / step + 1e-9) * step
