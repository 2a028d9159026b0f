"""What the lab does to this machine, kept apart and undone: placement on CPUs, the guard."""
