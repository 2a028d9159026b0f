"""Checks of this machine and user, with remedies."""
