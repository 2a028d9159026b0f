"""The folder that a study writes: the only reader and writer of results."""
