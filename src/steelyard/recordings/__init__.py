"""Importers of what other tools measured: one file a format."""
