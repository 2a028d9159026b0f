"""The judgement as text, Markdown or JSON, and as pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steelyard.report.export.judgement_json import to_json
from steelyard.report.export.markdown import to_markdown
from steelyard.report.presented.presented import Presented

# by the form that a user asks for
EXPORTERS: Mapping[str, Callable[[Presented], str]] = {"json": to_json, "markdown": to_markdown}
