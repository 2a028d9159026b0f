"""Replay: a capture's file, and the workload that executes it."""
