"""report.html: one file, no network."""
