"""An invented ward: patients, their messages and what stands in their notes.

Everything is drawn from a seed; no person in it exists.  Needs the ``demo`` extra.
"""
