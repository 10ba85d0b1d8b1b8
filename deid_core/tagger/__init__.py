"""The sequence tagger: a linear chain and a rescorer, compiled to be fast.

Read in this order: `words` and `codec` (text to words, labels to spans), `features`
(what a model may look at), `model` and `model_files` (weights as plain data),
`model_tables` (the same as arrays, mapped from files), `forms` and `score_tables` (what
each word gives), `compiled` (a model that tags texts), `rescoring` and
`compiled_rescoring` (the choice among a line's best paths), `kernels` (compiled loops
of all these).
"""
