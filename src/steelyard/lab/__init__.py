"""Runs a plan: phases, order, load, monitors; independent of the bundle's format."""

import logging

# the lab itself says which connection was lost, and in which run
logging.getLogger("psycopg").setLevel(logging.CRITICAL)
