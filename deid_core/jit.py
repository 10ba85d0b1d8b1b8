"""numba's compiler, as this package uses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numba
from numpy.typing import NDArray

# A relative NUMBA_CACHE_DIR would leave folders wherever a program is started; without
# it numba keeps machine code in __pycache__, or else in the user's cache folder.
_config: Any = numba.config
if not Path(_config.CACHE_DIR).is_absolute():
    _config.CACHE_DIR = ""

# Any: of compiled code numba finds the types, and numpy's stubs know only Python's.
Array = NDArray[Any]
Int = Any
Float = Any

F = TypeVar("F", bound=Callable[..., Any])

_kernels: list[Any] = []


def compiled(function: F) -> F:
    """Compile a function of numbers and arrays; the machine code is kept on disk.

    Where nothing can be written, it is compiled anew by each process.
    """
    try:
        made = numba.njit(cache=True, fastmath=True, nogil=True)(function)
    except RuntimeError:
        made = numba.njit(fastmath=True, nogil=True)(function)
    _kernels.append(made)
    return cast(F, made)


class MachineCode(NamedTuple):
    """Where the machine code is from that this process has run so far.

    Args:
        loaded: How many kernels an earlier process left.
        compiled: How many this process compiled.
        is_kept: Whether the next process will find them.
    """

    loaded: int
    compiled: int
    is_kept: bool


def machine_code() -> MachineCode:
    """Return how much was loaded and compiled so far."""
    every = [each.stats for each in _kernels]
    return MachineCode(
        sum(sum(each.cache_hits.values()) for each in every),
        sum(sum(each.cache_misses.values()) for each in every),
        all(each.cache_path is not None for each in every),
    )


def is_machine_code_kept() -> bool:
    """Return whether an earlier process left machine code of what is imported so far.

    Without it the first use compiles, which takes a minute or so; `deid_core.prepare`
    does it ahead.
    """
    # Not of all: a note without a patient's record leaves some functions uncompiled.
    return any(_is_kept(each) for each in _kernels)


def _is_kept(kernel: Any) -> bool:  # noqa: ANN401 (numba has no type for it)
    folder = kernel.stats.cache_path
    return folder is not None and any(
        Path(folder).glob(f"*{kernel.py_func.__qualname__}-*.nbi")
    )
