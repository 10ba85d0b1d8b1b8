"""Find and replace protected health information in clinical text.

The public names of `deid_core`, the library of phistream: ``import phistream`` is the
way in.  The service is the command ``phistream``.
"""

from importlib.metadata import version

import deid_core
from deid_core import *  # noqa: F403 - exactly the names of its __all__

__version__ = version("phistream")
__all__ = ["__version__"]
__all__ += deid_core.__all__
