"""Kernels and virtual machines: found, unpacked, booted."""
