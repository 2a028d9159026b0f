"""Runs a plan: phases, order, load, monitors; independent of the bundle's format."""
