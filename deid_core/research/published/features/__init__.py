"""Features of words in their sentences, and what they are made of."""
