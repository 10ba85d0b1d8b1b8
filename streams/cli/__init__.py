"""The command line, `phistream COMMAND`: one module for each command."""

from .app import main

__all__ = ["main"]
