"""Metrics and health of every process, served over HTTP; start at `catalogue`."""
