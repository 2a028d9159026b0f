"""A server in a virtual machine that is booted for each run."""
