"""The command line, `phistream COMMAND`: one module for each command."""

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    # Each worker process imports this module again, since its parent's program does;
    # it needs none of the commands.
    from .app import main as run

    run()
