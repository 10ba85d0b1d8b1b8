"""Adaptation of the tagger to a site's own notes, by the records of its patients.

A site has no annotators, but its notes come with demographics.  What the record of a
patient holds labels that patient's notes (`distant`), other values are written in its
place (`exchange`), and the tagger learns from these lines beside annotated corpora.
Features that could spell a word of a note are dropped (`kept_features`).  A model that
is worse than the one in use is refused (`comparison`).
"""
