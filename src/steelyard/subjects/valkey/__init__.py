"""Valkey and Redis servers that the lab starts."""
