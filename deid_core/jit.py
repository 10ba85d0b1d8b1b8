"""numba's compiler, as this package uses it.

Machine code is kept as pickles: whoever writes them runs code in each process that
loads them.  So a folder to which other users can write is not used, and one to which
this process can't write, as in the image, is only read.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numpy.typing import NDArray

from .prepared import chosen_folder, is_private, user_folder

log = logging.getLogger(__name__)

# Any: of compiled code numba finds the types, and numpy's stubs know only Python's.
Array = NDArray[Any]
Int = Any
Float = Any

F = TypeVar("F", bound=Callable[..., Any])

_kernels: list[Any] = []
_unkept: set[str] = set()
"""The names of kernels whose machine code could not be written."""


def compiled(function: F) -> F:
    """Compile a function of numbers and arrays; the machine code is kept on disk.

    Where nothing can be written, what is there is read, and the rest is compiled anew
    by each process.
    """
    made: Any = numba.njit(fastmath=True, nogil=True)(function)
    with suppress(RuntimeError):  # no folder
        # What enable_caching() does, with another cache; numba has no public way to it,
        # and no types.
        made._cache = _Cache(function)  # type: ignore[no-untyped-call]  # noqa: SLF001
    _kernels.append(made)
    return cast(F, made)


class _Locator:
    """Where the machine code of a function is, by numba's protocol of locators."""

    def __init__(self, folder: Path, file: Path, line: int) -> None:
        self._folder, self._file, self._line = folder, file, line

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:  # noqa: ANN401  # numba's
        """Return the first that can be used."""
        for folder in _folders(Path(file)):
            made = cls(folder, Path(file), function.__code__.co_firstlineno)
            with suppress(OSError):
                made.ensure_cache_path()
                return made
        return None

    def ensure_cache_path(self) -> None:
        """Make the folder; raise OSError if it can be neither made nor read."""
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        os.listdir(self._folder)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return what changes with the source."""
        return hashlib.sha256(self._file.read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        """Return what tells functions of one name apart."""
        return str(self._line)


class _Place(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012  # numba's


class _Cache(FunctionCache):
    """numba's cache of a function; its folder may be read-only."""

    _impl_class = _Place

    def save_overload(self, sig: Any, data: Any) -> None:  # noqa: ANN401  # numba's
        """Keep machine code, if that is possible."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]  # numba's
        except OSError:
            _unkept.add(self._py_func.__qualname__)


def _folders(file: Path) -> Iterator[Path]:
    """Yield the folders in which a module's machine code may be, the best first."""
    package = hashlib.sha256(str(file.parent.absolute()).encode()).hexdigest()[:16]
    name = f"{file.parent.name}-{package}"
    chosen = chosen_folder()
    if chosen is not None:
        yield from _private(chosen, name)
        return
    # Who can write there can change the code itself.
    own = file.parent / "__pycache__"
    if os.access(own if own.exists() else own.parent, os.W_OK) or _has_code(own, file):
        yield own
    if (user := user_folder()) is not None:
        yield from _private(user / "numba", name)


def _private(base: Path, name: str) -> Iterator[Path]:
    if all(is_private(each) for each in (base, base / name)):
        yield base / name
    else:
        log.warning("%s: not used for machine code: others can write to it", base)


def _has_code(folder: Path, file: Path) -> bool:
    return folder.is_dir() and any(folder.glob(f"{file.stem}.*.nbi"))


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
        all(each.cache_path is not None for each in every) and not _unkept,
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
