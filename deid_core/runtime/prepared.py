"""Arrays that are worked out once for a machine and mapped by all its processes.

A model's tables and the lists of words are made from what the package carries, which
takes seconds; the result is kept as files of numpy's own format and mapped read-only,
so that processes share its pages.  Nothing of a note or a record is ever kept so.

They lie beside the machine code of the kernels: in the folder that ``NUMBA_CACHE_DIR``
names, or else in this package's ``__pycache__``, or else, where that can't be written,
in the user's cache folder.  Where nothing can be written, each process makes its own.
A folder to which other users can write is not used; kernels index arrays unchecked.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

PACKAGE = Path(str(files("deid_core")))
"""The folder of the library."""

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


def chosen_folder() -> Path | None:
    """Return the folder that NUMBA_CACHE_DIR names, if any.

    A relative one would leave folders wherever a program is started.
    """
    chosen = Path(os.environ.get("NUMBA_CACHE_DIR", ""))
    return chosen if chosen.is_absolute() else None


def user_folder() -> Path | None:
    """Return this package's folder among the user's caches; None without a home."""
    own = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (own if own.is_absolute() else Path.home() / ".cache") / "phistream"
    except RuntimeError:
        return None


def is_private(folder: Path) -> bool:
    """Return whether only root and this user can write to a folder, or it is absent."""
    try:
        found = folder.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    foreign = stat.S_IWGRP | stat.S_IWOTH
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & foreign


def code_folders(file: Path) -> Iterator[Path]:
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


def make_private(folder: Path) -> None:
    """Make a folder, and that above it, to which this user alone can write.

    Of others above them that are missing the process's umask decides.

    Raises:
        OSError: It can't be made.
    """
    above = folder.parent
    above.parent.mkdir(parents=True, exist_ok=True)
    for each in (above, folder):
        each.mkdir(mode=0o755, exist_ok=True)


def _folders() -> Iterator[Path]:
    """Yield where they may lie, the first choice first."""
    chosen = chosen_folder()
    if chosen is None:
        # Who can write there can change the code itself.
        yield PACKAGE / "__pycache__" / "prepared"
        chosen = user_folder()
    if chosen is not None and is_private(chosen) and is_private(chosen / "prepared"):
        yield chosen / "prepared"


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
    make_private(folder)
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
