"""What hardware a load needs, from measured factors."""
