"""Reports of Adaptive Server Enterprise."""
