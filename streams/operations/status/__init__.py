"""``phistream status``: the flow, lag, groups and dead letters, in a terminal.

Read `picture.py` first: what is shown.  `ask_kafka` or `ask_watch` fills it, `screen`
draws it.  Only counts, names of our own and positions are shown: no value of a record.
"""
