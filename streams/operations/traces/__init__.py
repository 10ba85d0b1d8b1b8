"""Traces: spans for operators, and the header `traceparent` (decision 28)."""
