"""`phistream serve`: notes, messages and documents scrubbed over HTTP, without Kafka.

Nothing is stored.  One process (`server`, `guard`, `app`) speaks HTTP and sees bodies
as bytes only.  All that reads or scrubs them runs in worker processes (`scrubbing`),
which `pool` starts, limits and replaces.
"""
