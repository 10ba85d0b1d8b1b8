"""Score a system's predictions on a gold corpus: measures, intervals, tables."""
