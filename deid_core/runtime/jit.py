"""Kernels: functions of numbers and arrays, compiled where numba is installed.

Without numba, which the extra ``fast`` installs, they run as the Python that they are
written in: the same bytes, some hundred times slower.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar, cast

from numpy.typing import NDArray

from .prepared import PACKAGE, code_folders

log = logging.getLogger(__name__)

# Any: of compiled code numba finds the types, and numpy's stubs know only Python's.
Array = NDArray[Any]
Int = Any
Float = Any

WRAP = (1 << 64) - 1
"""Python's integers don't wrap around at 64 bits; ``& WRAP`` makes them."""

INSTALL = "pip install 'phistream[fast]'"
_MANY = 200
_SAMPLE = PACKAGE / "tagger" / "kernels" / "words.py"

F = TypeVar("F", bound=Callable[..., Any])


class _Choice:
    """The choice of whether this process compiles, made before the first kernel."""

    is_plain = False
    is_made = False
    read = 0
    """How many documents were read uncompiled."""


def compiled(function: F) -> F:
    """Compile a function of numbers and arrays, and keep its machine code on disk.

    Where `is_compiled` is false, it is left as it is.
    """
    if not is_compiled():
        return function
    from .machine_code import dispatcher

    return cast(F, dispatcher(function))


def compiled_or(plain: F) -> Callable[[F], F]:
    """Compile a function as `compiled` does, but run another one uncompiled.

    Args:
        plain: Gives the same, where numbers of 64 bits would wrap around: numpy warns
            of that, and Python's integers are faster than numpy's scalars.
    """
    return lambda function: compiled(function) if is_compiled() else plain


def is_compiled() -> bool:
    """Return whether this process runs kernels as machine code.

    The first call decides for all kernels, which call one another.
    """
    _Choice.is_made = True
    return has_compiler() and not _Choice.is_plain


def run_uncompiled() -> None:
    """Run kernels as Python in this process, though numba is installed.

    For a little text on a machine that keeps no machine code yet.  It changes nothing
    once a kernel has been imported.
    """
    if not _Choice.is_made:
        _Choice.is_plain = True


@cache
def has_compiler() -> bool:
    """Return whether numba is installed; it is not imported."""
    return find_spec("numba") is not None


def is_machine_code_kept() -> bool:
    """Return whether an earlier process left machine code of this package's kernels.

    Without it the first use compiles; `deid_core.runtime.prepare` does it ahead.
    """
    return any(
        folder.is_dir() and any(folder.glob(f"{_SAMPLE.stem}.*.nbi"))
        for folder in code_folders(_SAMPLE)
    )


class MachineCode(NamedTuple):
    """Where the machine code is from that this process has run so far.

    Args:
        loaded: How many kernels an earlier process left.
        compiled: How many this process compiled.
        is_kept: Whether the next process will find them.
    """

    loaded: int = 0
    compiled: int = 0
    is_kept: bool = True


def machine_code() -> MachineCode:
    """Return how much was loaded and compiled so far."""
    if not is_compiled():
        return MachineCode()
    from .machine_code import kernels, unkept

    every = [each.stats for each in kernels]
    return MachineCode(
        sum(sum(each.cache_hits.values()) for each in every),
        sum(sum(each.cache_misses.values()) for each in every),
        all(each.cache_path is not None for each in every) and not unkept,
    )


@contextmanager
def compiling() -> Iterator[None]:
    """Show on a terminal how far the compiler is, or else log that it compiles.

    Nothing is shown or logged where machine code is kept already.
    """
    if not is_compiled() or is_machine_code_kept():
        yield
        return
    from . import machine_code

    on_terminal = sys.stderr.isatty()
    if on_terminal:
        machine_code.observers.append(_show)
    else:
        log.warning("compiling for this machine, once; it takes half a minute")
    was_collecting = gc.isenabled()
    gc.enable()  # the compiler leaves 150 MB of garbage
    try:
        yield
    finally:
        if not was_collecting:
            gc.disable()
        if on_terminal:
            machine_code.observers.remove(_show)
            sys.stderr.write("\n")


def _show(kernels: int) -> None:
    sys.stderr.write(f"\rcompiling for this machine, once: {kernels} kernels")
    sys.stderr.flush()


def count_uncompiled(documents: int) -> None:
    """Say once in a process, after some hundred documents, how to become faster."""
    before = _Choice.read
    _Choice.read += documents
    if before < _MANY <= _Choice.read:
        cure = "python -m deid_core.runtime.prepare" if has_compiler() else INSTALL
        log.warning("reading uncompiled; some hundred times faster with: %s", cure)
