"""Judges what was measured: takes tables, returns frozen dataclasses, does no I/O."""
