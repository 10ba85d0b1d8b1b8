"""The sequence tagger: a linear chain, trained here, compiled to be fast.

Read in this order: `words` and `codec` (text to lines, words and labels), `features`
(what may be looked at), `encoding` (lines as numbers), `learners` (weights), `training`
(recipe and corpus to a `model`), `compiled` (a model that tags), `rescoring` (what
chooses among the chain's best paths).  Tagging needs numpy and numba; all else is for
training.
"""
