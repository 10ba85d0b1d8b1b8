"""The project's own invented notes, which come with the library, compressed.

They are corpora with a name instead of a path: ``--corpus written``.  Their licence is
the project's.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from deid_core.errors import ConfigError

INSTALLED: Mapping[str, str] = MappingProxyType(
    {"written": "train", "written-dev": "dev"}
)
"""Names of the corpora, and the part of the written notes that each one is."""
TRAINING, DEVELOPMENT = map(Path, INSTALLED)
"""What is learned, and what is never learned, unless a command names other corpora."""
CONVENTIONS = "written_notes"
LANGUAGE = "en"


def is_installed(path: Path) -> bool:
    """Return whether a path is the name of a corpus that comes with the library.

    Such a name never means a folder; write ``../here/written`` for that.
    """
    return str(path) in INSTALLED


def paths_of(corpora: Iterable[Path]) -> list[Path]:
    """Return the corpora that are files or folders."""
    return [corpus for corpus in corpora if not is_installed(corpus)]


def file_of(name: str) -> str:
    """Return the name of the compressed file of a corpus."""
    return f"{name}.txt.xz"


def packed(name: str) -> bytes:
    """Return the compressed file of a corpus."""
    return (files(__package__) / file_of(name)).read_bytes()


def text_of(name: str) -> str:
    """Return the marked notes of a corpus, as one text."""
    return lzma.decompress(packed(name)).decode("utf-8")


def require_learnable(recipe: str, language: str, conventions: str | None) -> None:
    """Check that a recipe can learn the notes that come with the library.

    Args:
        recipe: Its name, for the message.
        language: ISO 639, of the notes that it reads.
        conventions: The corpus whose tags it learns; None for any.

    Raises:
        ConfigError: They have another language or other tags.
    """
    if language == LANGUAGE and conventions in (None, CONVENTIONS):
        return
    tags = f" with the tags of {conventions}" if conventions else ""
    raise ConfigError(
        f"recipe {recipe!r} learns notes in language {language!r}{tags}; those that "
        f"come with phistream are in {LANGUAGE!r}: name a corpus by --corpus"
    )
