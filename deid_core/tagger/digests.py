"""Digests of models: a folder in which any file was changed is refused.

The weights by the names of features are not among them: ``model.json`` holds their own
digest, and `model_files.load_model` checks it.

The digests of the models that come with the library are in ``models/digests.json``;
that of a user's own model is in its folder, in the file ``sha256``, or in its preset.
After a change that was meant:

    python -m deid_core.tagger.digests [FOLDER ...]
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import orjson

from deid_core.errors import ConfigError

LOCK, OWN = "digests.json", "sha256"
TRAINED = "weights.npz"
"""What training leaves and tagging does not read; ``model.json`` has its digest."""
MODELS: Traversable = files(__package__) / "models"
RENEW = "python -m deid_core.tagger.digests"


def contents(folder: Traversable) -> dict[str, bytes]:
    """Return the files of a model by name, but those that its digest is not of.

    Raises:
        OSError: One can't be read.
    """
    return {
        each.name: each.read_bytes()
        for each in folder.iterdir()
        if each.is_file() and each.name not in (OWN, TRAINED)
    }


def digest_of(read: Mapping[str, bytes]) -> str:
    """Return one digest of the names and contents of files."""
    digest = hashlib.sha256()
    for name in sorted(read):
        content = hashlib.sha256(read[name])
        digest.update(name.encode() + b"\0" + content.digest())
    return digest.hexdigest()


def require_whole(name: str, found: str, expected: str = "") -> None:
    """Check the digest of a model.

    Args:
        name: Of a model that comes with the library, or the path of a folder.
        found: The digest of its files.
        expected: That of a preset; by default what the lock or the folder says.

    Raises:
        ConfigError: It is another, or none is known.
    """
    is_own = "/" in name
    known = expected or (_beside(Path(name)) if is_own else _locked().get(name, ""))
    again = f"{RENEW} {name}" if is_own else RENEW
    if not known:
        raise ConfigError(
            f"model {name!r}: has no digest; if it is as it was trained, run: {again}"
        )
    if found != known:
        raise ConfigError(
            f"model {name!r}: its files are not what they were: their digest is "
            f"another; install it again, or if you changed them, run: {again}"
        )


def renew(folder: Path) -> str:
    """Write the digest of a model's folder where it is looked for; return it."""
    digest = digest_of(contents(folder))
    models = Path(str(MODELS))
    if folder.resolve().parent == models.resolve():
        lock = {folder.resolve().name: digest}
        with suppress(ConfigError):  # it may be damaged, or not there yet
            lock = _locked() | lock
        kept = {name: lock[name] for name in sorted(lock) if (models / name).is_dir()}
        (models / LOCK).write_bytes(
            orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
    else:
        (folder / OWN).write_text(f"{digest}\n", "ascii")
    return digest


def main(folders: list[str]) -> None:
    """Renew the digests of folders, or of all models that come with the library."""
    shipped = sorted(each for each in Path(str(MODELS)).iterdir() if each.is_dir())
    for folder in map(Path, folders) if folders else shipped:
        sys.stdout.write(f"{folder.name}: {renew(folder)}\n")


def _locked() -> dict[str, str]:
    try:
        lock = orjson.loads((MODELS / LOCK).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        raise ConfigError(f"models: {LOCK} can't be read; install again") from None
    return {str(name): str(digest) for name, digest in lock.items()}


def _beside(folder: Path) -> str:
    try:
        return (folder / OWN).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


if __name__ == "__main__":
    main(sys.argv[1:])
