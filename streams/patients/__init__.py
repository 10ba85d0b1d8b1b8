"""Patient records: how they are merged, stored per partition, and matched."""
