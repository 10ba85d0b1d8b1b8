"""Arrays that are worked out once for a machine and mapped by all its processes.

A model's tables and the lists of words are made from what the package carries, which
takes seconds; the result is kept as files of numpy's own format and mapped read-only,
so that processes share its pages.  Nothing of a note or a record is ever kept so.

They lie beside the machine code of the kernels: in the folder that ``NUMBA_CACHE_DIR``
names, or else in this package's ``__pycache__``, or else, where that can't be written,
in the user's cache folder.  Where nothing can be written, each process makes its own.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

Arrays = Mapping[str, NDArray[Any]]
"""By name; every array is read-only."""


def prepared(name: str, digest: str, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays that ``make`` gives, from files if it has been called before.

    Args:
        name: What they are.
        digest: Changes with all that ``make`` reads, and with ``make`` itself.
        make: Works them out; no array may hold Python objects.
    """
    entry = f"{name}-{digest}"
    for folder in _folders():
        with suppress(OSError, EOFError, ValueError):  # none there, or not whole
            return _mapped(folder / entry)
    made = make()
    for folder in _folders():
        with suppress(OSError):
            _keep(made, folder, entry)
            log.info("%s: made and kept in %s", name, folder)
            return _mapped(folder / entry)
    for array in made.values():
        array.flags.writeable = False
    return made


def _folders() -> Iterator[Path]:
    """Yield where they may lie, the first choice first."""
    chosen = Path(os.environ.get("NUMBA_CACHE_DIR", ""))
    if chosen.is_absolute():
        yield chosen / "prepared"
        return
    yield Path(__file__).parent / "__pycache__" / "prepared"
    with suppress(RuntimeError):  # a user without a home
        own = os.environ.get("XDG_CACHE_HOME", "")
        base = Path(own) if Path(own).is_absolute() else Path.home() / ".cache"
        yield base / "phistream" / "prepared"


def _mapped(folder: Path) -> Arrays:
    """Raises OSError, EOFError or ValueError if they are not there or not whole."""
    found = {}
    for name in (folder / _NAMES).read_text("ascii").split():
        # A plain array over the mapped pages: kernels know no other kind.
        found[name] = np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
    if not found:
        raise ValueError("no names")
    return found


_NAMES = "names"
"""The file that lists the arrays; written last."""


def _keep(arrays: Arrays, folder: Path, entry: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{entry}-", dir=folder))
    try:
        draft.chmod(0o755)
        for name, array in arrays.items():
            np.save(draft / f"{name}.npy", np.ascontiguousarray(array))
        (draft / _NAMES).write_text("\n".join(arrays), "ascii")
        _put_in_place(draft, folder / entry)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, place: Path) -> None:
    try:
        draft.rename(place)
    except OSError:
        if _is_whole(place):
            return  # another process was first
        # What a crash has left.
        shutil.rmtree(place)
        draft.rename(place)


def _is_whole(place: Path) -> bool:
    with suppress(OSError, EOFError, ValueError):
        return bool(_mapped(place))
    return False
