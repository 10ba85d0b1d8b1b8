"""`python -m streams.cli` runs `phistream`."""

from . import main

if __name__ == "__main__":
    main()
