"""A simulated machine under dispatch tables."""
