"""CDA R2 and C-CDA documents: read, and written back without identifiers."""

from .reader import CcdaReader

__all__ = ["CcdaReader"]
