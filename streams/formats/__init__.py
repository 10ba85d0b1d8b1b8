"""Formats of messages and files: recognised by content, read and written back."""
