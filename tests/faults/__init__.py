"""Faults against a whole installation on real Kafka, audited from outside.

`python -m tests.faults` runs the scenarios of `scenarios` and prints a table.
"""
