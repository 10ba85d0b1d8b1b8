"""``python -m streams.cli`` is ``phistream``."""

from .app import main

if __name__ == "__main__":
    main()
