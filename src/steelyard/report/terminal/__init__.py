"""The terminal: plan, progress, verdict."""
