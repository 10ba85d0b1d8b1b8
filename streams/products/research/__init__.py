"""Commands that train, adapt and score; they need the extra `train`."""
