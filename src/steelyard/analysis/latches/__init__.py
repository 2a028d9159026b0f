"""The latch table: counters as ratios, and what the model predicts."""
