"""Charts of latches: counters, times, predictions, sleeps."""
