"""Captured traffic: logs of a server read as sessions of statements, for a replay."""
