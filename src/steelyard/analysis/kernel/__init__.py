"""What the kernel's probes say: lock table, profile, scheduling."""
