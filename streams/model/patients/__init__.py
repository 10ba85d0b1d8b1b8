"""Patient records: how updates are folded and forwarded, and what is matched."""
