"""Steelyard weighs database servers under load, side by side."""
