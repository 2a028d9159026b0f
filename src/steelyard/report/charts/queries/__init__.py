"""Charts of queries: each by itself, in the order of its time under the baseline."""
