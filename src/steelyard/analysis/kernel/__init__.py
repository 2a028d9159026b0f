"""Results of the kernel's probes: lock table, profile, scheduling."""
