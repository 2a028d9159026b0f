"""Tables of the report: programs, latches, queries."""
