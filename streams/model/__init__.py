"""The values of topics: notes, audit events and dead letters, with their headers."""
