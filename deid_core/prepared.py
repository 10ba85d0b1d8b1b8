"""Arrays that are worked out once for a machine and mapped by all its processes.

A model's tables and the lists of words are made from what the package carries, which
takes seconds; the result is kept as files of numpy's own format and mapped read-only,
so that processes share its pages.  Nothing of a note or a record is ever kept so.

They lie beside the machine code of the kernels: in the folder that ``NUMBA_CACHE_DIR``
names, or else in this package's ``__pycache__``, or else, where that can't be written,
in the user's cache folder.  Where nothing can be written, each process makes its own.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.resources import files
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
        with suppress(OSError, EOFError, ValueError):  # not written, or not as it was
            _keep(made, folder, entry)
            log.info("%s: made and kept in %s", name, folder)
            return _mapped(folder / entry)
    log.warning("%s: can't be kept, so each process makes its own", name)
    for array in made.values():
        array.flags.writeable = False
    return made


def fingerprint(packages: Iterable[str], *others: str) -> str:
    """Return a digest of the files that lie in packages, and of other values.

    A digest for `prepared`: what makes arrays is code, which changes with an upgrade.
    """
    read = hashlib.sha256()
    for package in packages:
        for each in sorted(files(package).iterdir(), key=lambda each: each.name):
            if each.is_file():
                read.update(each.name.encode() + b"\0" + each.read_bytes())
    for other in others:
        read.update(f"{other}\n".encode())
    return read.hexdigest()[:32]


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
    lines = (folder / _NAMES).read_text("ascii").splitlines()
    if not lines or lines[-1] != _END:
        raise ValueError("not all names")
    for line in lines[:-1]:
        name, _, kept = line.partition(" ")
        file = folder / f"{name}.npy"
        # Kernels index them unchecked: a damaged file must not come so far.
        if _hash(file) != kept:
            raise ValueError(f"{name}: damaged")
        # A plain array over the mapped pages: kernels know no other kind.
        found[name] = np.asarray(np.load(file, mmap_mode="r"))
    return found


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


_NAMES, _END = "names", "end"
"""The file that lists the arrays with their hashes, written last, and its last line."""


def _keep(arrays: Arrays, folder: Path, entry: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{entry}-", dir=folder))
    try:
        draft.chmod(0o755)
        lines = []
        for name, array in arrays.items():
            file = draft / f"{name}.npy"
            np.save(file, np.ascontiguousarray(array))
            file.chmod(0o644)
            lines.append(f"{name} {_hash(file)}")
        (draft / _NAMES).write_text("\n".join((*lines, _END)), "ascii")
        (draft / _NAMES).chmod(0o644)
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
