"""Runs a plan: phases, order, load, monitors; knows no results' format."""
