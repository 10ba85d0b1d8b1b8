"""Research: corpora, scoring, training, published systems, experiments.

The product never imports it.  It needs the extra "train".
"""
