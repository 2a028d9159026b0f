"""From evidence to metrics: one row per run and load point, one column per metric."""
