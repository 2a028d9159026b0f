"""A server that speaks enough of TDS 5.0 for jTDS, and counts what it is sent: no database is behind it.

Formats are from the functional specification of TDS 5.0 and FreeTDS (doc/tds.html).
"""
