"""Models of words, with features made while tagging: the published systems.

Beside the product's own chain (`deid_core.tagger.compiled`), whose features compile
into tables, stand the set-ups of the papers: parts of speech, links of a parser,
dictionaries over word groups; support vector machines, forests, maximum entropy, and
chains by python-crfsuite.  A model is arrays and JSON; nothing that runs when loaded.
"""
