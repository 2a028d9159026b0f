"""Observes a run: monitors, kernel probes, latches of servers."""
