"""Plumbing: compiled kernels, prepared tables, plug-ins, options, caches."""
