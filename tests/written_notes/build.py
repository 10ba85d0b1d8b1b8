"""Pack the notes that may be learned from and tuned on for the library.

    python -m tests.written_notes.build

The notes of ``held_out`` are not packed: nothing may learn them.
"""

from __future__ import annotations

import lzma
from importlib.resources import files
from pathlib import Path

import deid_core.research.corpora
from deid_core.research.corpora.installed import INSTALLED, file_of

HERE = Path(__file__).parent


def notes_of(part: str) -> bytes:
    """Return the files of a part by name, one after the other."""
    return b"".join(each.read_bytes() for each in sorted((HERE / part).glob("*.txt")))


def main() -> None:
    """Write the packed notes of every part beside the readers."""
    folder = Path(str(files(deid_core.research.corpora)))
    for name, part in INSTALLED.items():
        packed = lzma.compress(notes_of(part), preset=9 | lzma.PRESET_EXTREME)
        (folder / file_of(name)).write_bytes(packed)


if __name__ == "__main__":
    main()
