"""The machine, processes and threads, from /proc."""
