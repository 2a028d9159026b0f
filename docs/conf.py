"""Sphinx configuration; the reference is written from the code by each build, or by running this file."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard import __version__
from steelyard.bundle.schema import TABLES
from steelyard.study.reading import json_schema

project = "Steelyard"
release = __version__
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


def _bundle_page() -> str:
    lines = ["# Bundles", "", "A bundle is a folder:", ""]
    lines += [
        "- `study.toml`: the study as it was run",
        "- `bundle.json`: format, options with their levels, the baseline",
        "- `environment.json`: machine, kernel, server with its settings, placement, version; no secrets",
        "- `runs/0001/*.parquet`: the tables of run 1, written whole",
        "- `logs/0001.log`: the server's last words, where run 1 is void",
        "- `report.html`: the report, written again by `steelyard report`",
        "",
        "Times `*_ns` count from the start of the run. A metric whose name ends in `_total` is a counter;",
        "every other one is a gauge, and `x_limit` is the most that gauge `x` can reach.",
        "",
    ]
    for table in TABLES:
        lines += [f"## {table.name}", "", f"A row is {table.row}.", ""]
        lines += ["| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{c.name}` | {c.type} | {c.text} |" for c in table.columns]
        lines.append("")
    return "\n".join(lines)


PAGES = {"study.md": _study_page(), "bundle.md": _bundle_page()}


def setup(_app: object) -> None:
    """Called by Sphinx before it reads any page."""
    for name, text in PAGES.items():
        (HERE / "reference" / name).write_text(text)


if __name__ == "__main__":
    setup(None)
