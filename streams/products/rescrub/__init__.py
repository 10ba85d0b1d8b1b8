"""`phistream rescrub`: notes that the live feed has published, scrubbed once more.

Start at `job`.
"""
