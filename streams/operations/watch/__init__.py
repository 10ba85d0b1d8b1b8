"""The operations page: windowed counts over what scrub and intake publish.

It writes nothing that the scrubbed feed depends on, and holds counts and codes only.
"""
