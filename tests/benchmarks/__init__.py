"""Benchmarks: commands that print tables.  No test asserts a time."""
