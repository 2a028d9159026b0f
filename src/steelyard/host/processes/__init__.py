"""Processes of ours: marked, guarded, ended; signals and limits."""
