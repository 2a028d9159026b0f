"""Monitors by SQL: a query of the study's, or a set of ours, by a connection of its own."""
