"""numba's compiler, as this package uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numpy.typing import NDArray

# Any: of compiled code numba finds the types, and numpy's stubs know only Python's.
Array = NDArray[Any]
Int = Any
Float = Any

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function of numbers and arrays; the machine code is kept on disk.

    Where nothing can be written, it is compiled anew by each process.
    """
    try:
        made = numba.njit(cache=True, fastmath=True, nogil=True)(function)
    except RuntimeError:
        made = numba.njit(fastmath=True, nogil=True)(function)
    return cast(F, made)
