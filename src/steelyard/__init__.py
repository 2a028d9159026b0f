"""Steelyard weighs database servers under load, side by side."""

__version__ = "0.1.0"
