"""``phistream doctor``: looks at everything a start depends on, and says what to do.

Read `checks.py` first: the table of what is looked at.  A check sees and judges; it
changes nothing but a probe of its own, which it takes away again.  No finding holds a
value of a record, a key or a password.
"""
