"""Reports of Oracle."""
