"""What pgbench says to each way of fooled/*.toml that PostgreSQL has: TPS of one option over the other.

    python benches/fooled_pgbench.py [NAME ...]

Both options use the same database, as scripts around pgbench do: five rounds of one second each, in turns.
"""

# pyright: basic
from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

WAYS = Path(__file__).with_name("fooled")
ROUNDS = 5
KINDS = {
    "uniform": "\\set {name} random({low}, {high})",
    "zipf": "\\set {name} random_zipfian({low} + 1, {high} + 1, {exponent}) - 1",
}


def as_postgres(*command: object, env: dict[str, str] | None = None, text: str | None = None) -> str:
    """Standard output. Raises CalledProcessError."""
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    given = {**os.environ, **(env or {})}
    done = subprocess.run(
        [*user, *map(str, command)],
        capture_output=True,
        text=True,
        check=True,
        env=given,
        input=text,
        cwd="/",
    )
    return done.stdout


def script(workload: dict, levels: dict[str, object], factor: dict, level: str) -> str:
    """The statements of a transaction. A sequence is the server's; of a choice, the first value."""
    lines = []
    for statement_name, statement in workload["statements"].items():
        sql = statement["sql"]
        if factor.get("setting") == f"statements.{statement_name}.sql":
            sql = str(levels[level])
        for name, parameter in statement.get("parameters", {}).items():
            if parameter["kind"] in KINDS:
                lines.append(KINDS[parameter["kind"]].format(name=name, **parameter))
            elif parameter["kind"] == "choice" and not isinstance(parameter["values"][0], str):
                lines.append(f"\\set {name} {parameter['values'][0]}")
            elif parameter["kind"] == "choice":
                sql = re.sub(rf":{name}\b", lambda _, value=parameter["values"][0]: f"'{value}'", sql)
            else:
                sql = re.sub(rf":{name}\b", "(select nextval('keys'))", sql)
        lines.append(" ".join(sql.split()) + ";")
    if any(one.get("begin") for one in workload.get("transactions", {}).values()):
        first = next(n for n, line in enumerate(lines) if not line.startswith("\\set"))
        lines = [*lines[:first], "begin;", *lines[first:], "commit;"]
    return "\n".join(lines) + "\n"


def weighed(path: Path, sockets: Path, folder: Path) -> str:
    """`STAGE 4.30 times LIVE`, and the transactions that failed."""
    study = tomllib.loads(path.read_text())
    workload, (factor,) = study["workload"], study["factors"].values()
    levels = factor["levels"]
    limit = study["subject"].get("settings", {}).get("max_connections")
    clients = study["plan"]["clients"][0] * (len(levels) if limit else 1)
    socket = ["-h", sockets, "-U", "postgres"]
    as_postgres(
        "psql", *socket, "-qc", "drop database if exists way", "-c", "create database way", "postgres"
    )
    schema = workload.get("schema_sql", "") + "; create sequence keys;"
    as_postgres("psql", *socket, "-qd", "way", text=schema)
    tps: dict[str, list[float]] = {label: [] for label in levels}
    failed: dict[str, str] = {}
    for _ in range(ROUNDS):
        for label in levels:
            file = folder / f"{label}.sql"
            file.write_text(script(workload, levels, factor, label))
            value = str(levels[label]).replace(" ", "\\ ")
            env = {"PGOPTIONS": f"-c {factor['setting']}={value}"} if factor["scope"] == "session" else {}
            mode = "prepared" if levels[label] == "named" else "simple"
            command = ["pgbench", *socket, "-n", "-f", file, "-M", mode, "-c", clients, "-T", 1, "way"]
            try:
                said = as_postgres(*command, env=env)
            except subprocess.CalledProcessError as error:
                said, failed[label] = error.stdout, error.stderr.strip().splitlines()[-1]
            found = re.search(r"^tps = ([\d.]+)", said, re.MULTILINE)
            tps[label].append(float(found[1]) if found else 0.0)
    means = {label: statistics.median(values) for label, values in tps.items()}
    slow, fast = sorted(means, key=means.__getitem__)
    ratio = f"{means[fast] / means[slow]:.2f} times" if means[slow] else "only"
    return f"{fast} {ratio} {slow}; {failed or 'nothing failed'}"


def main() -> None:
    binaries = Path("/usr/lib/postgresql/15/bin")
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        data = folder / "data"
        as_postgres(binaries / "initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses= -k {folder} -c max_connections=40"
        as_postgres(binaries / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            for path in sorted(WAYS.glob("*.toml")):
                if (
                    not sys.argv[1:] or path.stem in sys.argv[1:]
                ) and 'kind = "postgres"' in path.read_text():
                    print(f"{path.stem}: {weighed(path, folder, folder)}", flush=True)
        finally:
            as_postgres(binaries / "pg_ctl", "-D", data, "-m", "immediate", "stop")


if __name__ == "__main__":
    main()
