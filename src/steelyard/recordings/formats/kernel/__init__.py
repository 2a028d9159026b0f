"""Locks and profiles of kernels and programs."""
