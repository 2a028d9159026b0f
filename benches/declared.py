"""Metrics declared by the monitors of this version."""

from __future__ import annotations

from steelyard.declared_metrics import as_json
from steelyard.monitors import MONITORS, declared

DECLARED = {name: declared(name).metrics for name in MONITORS}
# the part of a bundle's environment.json
METRICS = {"metrics": {name: as_json(metrics) for name, metrics in DECLARED.items()}}
