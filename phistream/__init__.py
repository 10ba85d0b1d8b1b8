"""Find and replace protected health information in clinical text.

The public names of `deid_core`, the library of phistream: ``import phistream`` is the
way in.  The service is the command ``phistream``.
"""

from typing import TYPE_CHECKING

import deid_core

if TYPE_CHECKING:
    from deid_core import *  # noqa: F403 - exactly the names of its __all__

    __version__: str

__all__ = ["__version__"]
__all__ += deid_core.__all__

if not TYPE_CHECKING:  # to a type checker every name would be known

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = _version() if name == "__version__" else getattr(deid_core, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    # Slow to import.
    from importlib.metadata import version

    return version(__name__)
