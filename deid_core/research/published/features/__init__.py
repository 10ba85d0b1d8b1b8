"""Feature groups of words in sentences, and the resources that they use."""
