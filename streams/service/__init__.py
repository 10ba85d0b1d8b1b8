"""Worker processes and their supervisor.  A record's way starts at `worker`."""
