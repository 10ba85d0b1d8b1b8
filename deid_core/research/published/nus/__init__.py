"""The published system of the National University Hospital, Singapore, as a detector.

Source: Yuwono, Ng and Ngiam 2016, Automated Anonymization as Spelling Variant Detection
(Clinical NLP Workshop, COLING).  Four steps, one module each: ``names`` (section 3.1),
``numbers`` (3.2), ``dates`` (3.3), ``lists`` (3.4); ``maximum_entropy`` is the variant
that section 4 rejects.  Its errors are kept as well as its hits: "2/7", "1/12" and
"LOW" are found.

What the paper leaves open is decided in the module concerned, which says so.
"""
