"""Experiments on the systems and corpora at hand: questions in, tables and plots out.

Needs the extra "train".  `experiments.EXPERIMENTS` lists them all.
"""
