"""Processes that the lab starts: marked, guarded, ended; signals and time limits."""
