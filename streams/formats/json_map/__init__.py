"""Maps of a sender's JSON events to note events, as data."""

from .mapping import JsonMap
from .reading import load_json_map

__all__ = ["JsonMap", "load_json_map"]
