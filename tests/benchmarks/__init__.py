"""Benchmarks: commands that print tables; no test asserts a time."""
