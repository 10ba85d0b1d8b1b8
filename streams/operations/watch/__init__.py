"""The operations page: it only reads, and holds counts and codes."""
