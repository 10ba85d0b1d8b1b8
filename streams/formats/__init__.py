"""Formats of messages and files: recognised by content, read and written back."""

from .recognising import Format, recognise

__all__ = ["Format", "recognise"]
