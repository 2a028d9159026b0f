"""The dispatcher of a simulated machine: where each dispatch table wins."""
