"""Measurements made elsewhere, written as bundles: compare and report cannot tell them apart."""
