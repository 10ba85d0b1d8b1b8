"""The published system of the National University Hospital, Singapore, as a detector.

Source: Yuwono, Ng and Ngiam 2016, Automated Anonymization as Spelling Variant Detection
(Clinical NLP Workshop, COLING).  Each of its four steps is a module: ``names`` (section
3.1), ``numbers`` (3.2), ``dates`` (3.3), ``lists`` (3.4).  ``maximum_entropy`` is the
variant that section 4 rejects.  Its false positives are reproduced, too: "2/7", "1/12",
"LOW".

Each module says how it decides what the paper leaves open.
"""
