"""`python -m streams.cli` runs `phistream`."""

from .app import main

if __name__ == "__main__":
    main()
