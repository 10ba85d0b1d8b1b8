"""Secret keys: where they are kept, which is in force, and what they open."""
