"""Counts of the audit trail by time window, shared by watch and status."""
