"""Changes to this machine: host settings and kernels, made before a run and undone after it."""
