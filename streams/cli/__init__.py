"""The command line: ``phistream COMMAND``.  One module a command group."""

from .app import main

__all__ = ["main"]
