"""Sphinx configuration; the reference is written from the code by each build, or by running this file."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard.analysis.judgement.notices import FOUND, LIMITS, SEVERE
from steelyard.declared_metrics import Declaration, DeclaredMetric
from steelyard.monitors import MONITORS, declared
from steelyard.monitors.sql.queries import shipped
from steelyard.recordings.registry import known_formats, title_and_notes
from steelyard.recordings.schedule import EXAMPLE, Schedule
from steelyard.run_tables.schema import DERIVED, TABLES
from steelyard.study.load_study import json_schema
from steelyard.version import VERSION

project = "Steelyard"
release = VERSION
extensions = ["myst_parser", "sphinx_click"]
html_theme = "furo"
html_title = "Steelyard"
exclude_patterns = ["_build"]
myst_heading_anchors = 3

HERE = Path(__file__).parent


def _type(field: dict) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_type(part) for part in field["anyOf"] if part.get("type") != "null")
    if "enum" in field or "const" in field:
        return " ".join(f"`{word}`" for word in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"table of {_type(field['additionalProperties'])}"
    return field.get("type", "any")


def _model(name: str, model: dict) -> list[str]:
    lines = [f"## {name}", "", model.get("description", ""), ""]
    lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, field in model.get("properties", {}).items():
        default = "needed" if key in model.get("required", []) else f"`{json.dumps(field.get('default'))}`"
        if "default" not in field and default != "needed":
            default = ""
        meaning = field.get("description", "").replace("|", "\\|")
        lines.append(f"| `{key}` | {_type(field)} | {default} | {meaning} |")
    return [*lines, ""]


def _study_page() -> str:
    schema = json.loads(json_schema())
    lines = ["# Study files", "", "Written from the model; `steelyard schema` prints it as JSON Schema.", ""]
    lines += _model("Study", schema)
    for name, model in schema["$defs"].items():
        lines += _model(name, model)
    return "\n".join(lines)


_BELONGS = (
    "The JSON files carry a checksum of their content: another layout is no damage, another value is.",
    "When a bundle is read, each run is compared with its identity, and exactly the files that belong",
    "are read. What does not belong or is damaged is left out and named: as a notice of the report (in",
    "table `notices`, run 0) and on standard error by `sql` and `export`. Options are compared within a",
    "block, so a block that lost a run does not count; `steelyard resume` runs it again. Where",
    "`bundle.json`, `environment.json` or `study.toml` is damaged nothing is read, and the error names",
    "the file. The codes are among the [notices](notices.md): `run-left-out`, `run-missing`,",
    "`file-left-out`, `study-unfinished`.",
    "",
    "This is format 3; a bundle of another format is refused with its number.",
)


def _bundle_page() -> str:
    lines = ["# Bundles", "", "A bundle is a folder:", ""]
    lines += [
        "- `study.toml`: the study as it was run",
        "- `bundle.json`: format, the bundle's id, options with their levels, baseline, the study's checksum",
        "- `environment.json`: machine, kernel, server with its settings, placement, version, the",
        "  [metrics](metrics.md) that the monitors declare; no secrets",
        "- `runs/0001/*.parquet`: the tables of run 1, written whole",
        "- `runs/0001/run.json`: the identity of run 1: the bundle's id, its number, option, block, attempt",
        "  and status, and the SHA-256 of each table",
        "- `logs/0001.log`: the server's last words, where run 1 is void",
        "- `files/`: copies of the files that the study names (SQL, data), each up to 64 MiB; their",
        "  checksums are in `bundle.json`",
        "- `report.html`: the report, written again by `steelyard report`",
        "",
        *_BELONGS,
        "",
        "Times `*_ns` count from the start of the run. A metric whose name ends in `_total` is a counter;",
        "every other one is a gauge, and `x_limit` is the most that gauge `x` can reach.",
        "",
    ]
    for table in (*TABLES, *DERIVED):
        lines += [f"## {table.name}", "", f"A row is {table.row}.", ""]
        lines += ["| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{c.name}` | {c.type} | {c.text} |" for c in table.columns]
        lines.append("")
    return "\n".join(lines)


def _import_page() -> str:
    schema = Schedule.model_json_schema()
    lines = ["# Formats and schedules of import", "", "How to use them: [import](../howto/import.md).", ""]
    lines += [
        "## Formats",
        "",
        "Each is recognised by its beginning; `choices.format` of a schedule forces one.",
        "",
    ]
    lines += ["| name | what it reads | notes |", "|---|---|---|"]
    for name, format_ in known_formats().items():
        cells = (f"`{name}`", *title_and_notes(format_))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    lines += ["", *_model("Schedule", schema)]
    for name, model in schema["$defs"].items():
        lines += _model(name, model)
    lines += ["## An example", "", "```toml", EXAMPLE.rstrip(), "```", ""]
    return "\n".join(lines)


# what no monitor reads
_ENGINES_OWN = """\
## engine, inspect, monitors

- `engine`: `connections_made`, `reconnections`, `connect_ns_mean`, `threads`; `pointN`: `backlog`.
  A reconnection replaces a connection of the measured load that ended for any reason, including a missed
  deadline
- `engine`, of the Java engine, `pointN`, at the end of the warm-up: `warm_up_s`, its length; `quiet`, 1 or 0;
  `compiled_methods_per_s` and `compiling_percent` (of a CPU) in its last half second. `pointN:GROUP`:
  `cpu_ns_per_transaction` of the measured load, of `clients`, `other threads` of Java, and the `JVM`
  (compiler, garbage collector)
- a simulated machine (subject `dispatcher`), by group of threads and `total`: `cpu_ns_total` (reloads and
  switches within it), `wait_ns_total`, `sleep_ns_total`, `voluntary_switches_total`,
  `involuntary_switches_total`, `quantum_switches_total` (those at the end of a quantum),
  `quantum_expiries_total`, `migrations_total`, `steals_total`, `forks_total`, `reload_ns_total`,
  `switch_ns_total`, `longest_wait_ns` (since the last sample), `runnable_threads`; `group:priority`:
  `priority_ns_total`. Times are simulated
- `inspect` (queried in each client's own session at the start of the cool-down, summed): `prepared`
  `statements`, `generic_plans`, `custom_plans`; `memory` `session_bytes`, `plan_cache_bytes`; for MariaDB
  `prepared` `prepares`, `executes`, `closes`; `memory` `session_bytes`
- `data` (of a workload that adds rows, by table, after the load): `rows`, `rows_loaded`
- `monitors`, of each monitor: `cpu_ns_total`, its own cost, and `reading_ns`, the time that a
  reading took, waits for its source included
"""


def _uses(metric: DeclaredMetric) -> str:
    costs = [f"cost `{cost.name}`" for cost in metric.costs]
    fills = "can fill up" if metric.fills else ""
    limit = f"limit `{metric.name}_limit`" if metric.limit else ""
    chart = f"chart of `{metric.chart}`" if metric.chart else ""
    latch = f"column `{metric.latch}` of `latches`" if metric.latch else ""
    return ", ".join(filter(None, (*costs, fills, limit, chart, latch)))


def _monitor(name: str, declaration: Declaration) -> list[str]:
    lines = [f"## {name}", "", f"{declaration.default_hz:g} Hz by default. {declaration.text}".rstrip(), ""]
    lines += ["| entity | metric | unit | kind | meaning | used as |", "|---|---|---|---|---|---|"]
    for metric in declaration.metrics:
        entity, unit = metric.entity.replace("*", "\\*"), metric.unit or "number"
        cells = (entity, f"`{metric.name}`", unit, metric.kind, metric.meaning, _uses(metric))
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _metrics_page() -> str:
    lines = [
        "# Metrics",
        "",
        "Written from what the monitors declare. Names carry their units. `_total` marks a",
    ]
    lines += ["counter that only grows; the rest are gauges. Each sample is one row in the table `samples`:"]
    lines += ["monitor, entity, metric, value. `*` stands for any text.", ""]
    for name in MONITORS:
        lines += _monitor(name, declared(name))
    return "\n".join([*lines, _ENGINES_OWN])


def _sets_page() -> str:
    lines = [
        "# Monitor sets",
        "",
        "Queries for `[monitors.NAME] set = ...`; see [monitors by SQL](../howto/monitors-by-sql.md).",
        "With `by` there is one series per row.",
        "",
    ]
    for name, query in shipped().items():
        state = f"Verified: {query.verified}." if query.verified else f"**{query.mark.capitalize()}.**"
        lines += [f"## {name}", "", f"{query.title}. {state}", "", f"- manual: {query.manual}"]
        lines += [f"- needs: {query.needs}"] if query.needs else []
        lines += [f"- every {query.every_s:g} s", *([f"- by: `{query.by}`"] if query.by else [])]
        lines += [f"- `{column}`: {meaning}" for column, meaning in query.meanings.items()]
        lines += ["", "```sql", query.sql.strip(), "```", ""]
    return "\n".join(lines)


def _notices_page() -> str:
    lines = [
        "# Notices",
        "",
        "A report lists them below the table of options, the first of this page first.",
        "",
    ]
    for title, notices in (
        ("They may overturn the verdict", SEVERE),
        ("Found beside the answer", FOUND),
        ("Limits of what was recorded", LIMITS),
    ):
        lines += [f"## {title}", "", "| code | meaning |", "|---|---|"]
        lines += [*(f"| `{code}` | {meaning} |" for code, meaning in notices.items()), ""]
    closing = "Recordings have further ones, which say what a file does not hold: see [import](import.md)."
    return "\n".join([*lines, closing, ""])


PAGES = {
    "study.md": _study_page(),
    "bundle.md": _bundle_page(),
    "import.md": _import_page(),
    "metrics.md": _metrics_page(),
    "monitor-sets.md": _sets_page(),
    "notices.md": _notices_page(),
}


def setup(_app: object) -> None:
    """Called by Sphinx before it reads any page."""
    for name, text in PAGES.items():
        (HERE / "reference" / name).write_text(text)


if __name__ == "__main__":
    setup(None)
