"""Distributions, fitted scaling models and their intervals: no database in it."""
