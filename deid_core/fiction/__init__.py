"""Invented people, places and numbers, from packages that publish such lists.

Surrogates, synthetic notes, the values of training copies and the demo's ward draw from
it.  Everything drawn depends on a key or a seed alone.  build.py writes the lists into
tables; SOURCES.toml names the packages, their origin and licence.
"""
