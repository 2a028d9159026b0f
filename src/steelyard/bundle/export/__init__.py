"""A bundle's tables and profiles as files that other tools read."""
