"""PostgreSQL's own counters and waits."""
