"""The judgement as text: Markdown, or JSON with a published schema; and its pictures without a browser."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard import quantities as fmt
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.storage.files import file_names, write_whole
from steelyard.printable import printable
from steelyard.report.about import About
from steelyard.report.charts import figures
from steelyard.report.charts.figure import png, svg, uniquely_named
from steelyard.report.presented import Presented
from steelyard.report.tables.options import full_table, matrix
from steelyard.report.tables.statements import of_files, of_programs

SCHEMA = "steelyard/judgement/1"
# enough to know whose numbers these are; the report has the rest
_MACHINE = ("CPU", "cores", "kernel", "virtualisation")


def judgement_json(presented: Presented) -> dict[str, Any]:
    """`{"schema": ..., "all_points": ..., "judgement": ..., "about": ...}`, ready for json.dumps.

    all_points: what estimates and comparisons whose `clients` is null are; null where there is one point.
    Keys of effects' levels are codes joined by commas.
    """
    from pydantic import TypeAdapter

    return {
        "schema": SCHEMA,
        "all_points": presented.over(f"{presented.mean} over ", "at ") or None,
        "judgement": json.loads(TypeAdapter(Judgement).dump_json(presented.judgement)),
        "about": json.loads(TypeAdapter(About).dump_json(presented.about)),
    }


def to_json(presented: Presented) -> str:
    """The same as text."""
    return json.dumps(judgement_json(presented), indent=2) + "\n"


def judgement_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of what `judgement_json` gives."""
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Nullable(GenerateJsonSchema):
        def float_schema(self, schema: Any) -> dict[str, Any]:
            # JSON has no infinity, and an interval may have no end
            return {**super().float_schema(schema), "type": ["number", "null"]}

    refs, shared = TypeAdapter.json_schemas(
        [
            ("judgement", "serialization", TypeAdapter(Judgement)),
            ("about", "serialization", TypeAdapter(About)),
        ],
        schema_generator=Nullable,
    )
    properties = {name: schema for (name, _), schema in refs.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "A judgement of Steelyard",
        "type": "object",
        "required": ["schema", "all_points", "judgement", "about"],
        "properties": {"schema": {"const": SCHEMA}, "all_points": {"type": ["string", "null"]}, **properties},
        "$defs": shared.get("$defs", {}),
    }


def to_markdown(presented: Presented) -> str:
    """Question, answer, reasons, table of options, notices."""
    judgement, about = presented.judgement, presented.about
    lines = [f"**{_safe(judgement.question)}**", "", "  \n".join(map(_safe, judgement.verdict.lines)), ""]
    lines += [f"- {_safe(reason)}" for reason in judgement.verdict.reasons]
    options = full_table(presented)
    heads = ["", *map(_cell, options.head), "blocks"]
    lines += ["", _row(heads), _row(["---", "---", *["---:"] * (len(heads) - 2)]).replace(" ", "")]
    for row, (label, *cells) in zip(presented.ranking, options.rows, strict=True):
        blocks = str(row.work.blocks) if row.work else fmt.MISSING
        lines.append(_row([row.mark, _code(label), *map(_cell, cells), blocks]))
    legend = f"; {_cell(presented.legend)}" if presented.legend else ""
    for table in filter(None, (matrix(presented), of_programs(presented) or of_files(presented))):
        lines += [
            "",
            *(
                _row([_cell(text.strip()) for text in row])
                for row in (table.head, ["---"] * len(table.head), *table.rows)
            ),
        ]
    lines += ["", f"Figures are {_cell(presented.summary)} of runs{legend}.", ""]
    lines += [f"- {_safe(note.sentence)}" for note in presented.footnotes]
    facts = [about.machine[name] for name in _MACHINE if name in about.machine]
    machine = _safe("; ".join(facts)) or "machine unknown"
    server = f"{_safe(about.server_version)}; " if about.server_version else ""
    lines += [
        "",
        f"{server}{machine}; steelyard {_safe(about.steelyard_version)}; bundle {_code(about.bundle)}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    """Text that Markdown takes as text: neither markup, nor HTML, nor a new table cell."""
    marked = re.sub(r"([\\`*\[\]<>|#~&$]|\b_|_\b)", r"\\\1", _line(text))
    # at the beginning of a line they make a list
    return re.sub(r"^(\d*)([-+.)])", r"\1\\\2", marked)


def _cell(text: str) -> str:
    """The same of a number with its unit, which a study may choose; an interval stays as it is."""
    return re.sub(r"([\\`*<>|&$]|\](?=\())", r"\\\1", _line(text))


def _code(text: str) -> str:
    return "`{}`".format(_line(text).replace("`", "'").replace("|", "\\|"))


def _line(text: str) -> str:
    return printable(" ".join(text.split()))


def write_images(folder: Path, presented: Presented) -> list[Path]:
    """Writes `<panel>.svg` and `<panel>.png` for every chart; returns the files. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    panels = [panel for figure in uniquely_named(figures(presented)) for panel in figure.panels]
    names = file_names(panel.name for panel in panels)
    return [
        write_whole(folder / f"{names[panel.name]}.{form}", drawn(panel))
        for panel in panels
        for form, drawn in (("svg", svg), ("png", png))
    ]


# by the form that a user asks for
EXPORTERS = {"json": to_json, "markdown": to_markdown}
