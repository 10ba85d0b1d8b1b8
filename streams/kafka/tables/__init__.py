"""Local tables: what a compacted changelog topic holds, by partition, on disk."""
