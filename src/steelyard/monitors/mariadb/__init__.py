"""MariaDB's own counters and latches."""
