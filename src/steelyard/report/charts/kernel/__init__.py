"""Charts of the kernel's probes: profile, locks, scheduling."""
