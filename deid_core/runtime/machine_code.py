"""numba's compiler, as this package uses it; only `jit` imports this module.

Machine code is kept as pickles: whoever writes them runs code in each process that
loads them.  So a folder to which other users can write is not used, and one to which
this process can't write, as in the image, is only read.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from .prepared import code_folders, make_private

kernels: list[Any] = []
unkept: set[str] = set()
"""The names of kernels whose machine code could not be written."""

observers: list[Callable[[int], None]] = []
"""Told how many kernels have been compiled, after each one."""
_count = itertools.count(1)


def dispatcher(function: Callable[..., Any]) -> Any:  # noqa: ANN401  # numba's own type
    """Return a function that is compiled at its first call, or loaded from disk.

    Where nothing can be written, what is there is read, and the rest is compiled anew
    by each process.
    """
    made: Any = numba.njit(fastmath=True, nogil=True)(function)
    with suppress(RuntimeError):  # no folder
        # What enable_caching() does, with another cache; numba has no public way to it,
        # and no types.
        made._cache = _Cache(function)  # type: ignore[no-untyped-call]  # noqa: SLF001
    kernels.append(made)
    return made


class _Locator:
    """Where the machine code of a function is, by numba's protocol of locators."""

    def __init__(self, folder: Path, file: Path, line: int) -> None:
        self._folder, self._file, self._line = folder, file, line

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:  # noqa: ANN401  # numba's
        """Return the first that can be used."""
        for folder in code_folders(Path(file)):
            made = cls(folder, Path(file), function.__code__.co_firstlineno)
            with suppress(OSError):
                made.ensure_cache_path()
                return made
        return None

    def ensure_cache_path(self) -> None:
        """Make the folder; raise OSError if it can be neither made nor read."""
        if not self._folder.is_dir():
            make_private(self._folder)
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
        kernels_so_far = next(_count)
        for observer in observers:
            observer(kernels_so_far)
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]  # numba's
        except OSError:
            unkept.add(self._py_func.__qualname__)
