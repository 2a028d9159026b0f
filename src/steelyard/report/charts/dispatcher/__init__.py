"""Charts of simulated machines: priorities, traces, where a table wins."""
