"""SQLite, in process."""
