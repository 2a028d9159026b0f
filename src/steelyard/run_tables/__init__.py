"""The tables of a run: their definition, and rows that fit it. Needs the standard library alone."""
