"""CPUs: placement, processor sets, scheduling, control groups, calibration."""
