"""PhysioNet's de-identification corpus of nursing notes.

Source: Neamatullah and others 2008; https://physionet.org/content/deid/1.1/.  A folder
with two files:

* ``id.text``: each note between ``START_OF_RECORD=PATIENT||||NOTE||||`` and
  ``||||END_OF_RECORD``, on lines of their own.
* ``id-phi.phrase``: a line for each identifier, ``PATIENT NOTE START END TYPE PHRASE``,
  with offsets from the first character after the note's first line.

Notes without a line in ``id-phi.phrase`` have no identifier.  If there is a third file,
``id.deid``, it has a header ``Patient 1<tab>Note 2`` for each note that was read; other
notes are left out, because nobody has checked them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deid_core.document import Span
from deid_core.errors import ConfigError

from .conventions import Conventions
from .corpus import GoldDocument, GoldSpan, ordered

TEXT_FILE, PHRASE_FILE, READ_FILE = "id.text", "id-phi.phrase", "id.deid"

_RECORD = re.compile(
    r"^START_OF_RECORD=(\w+)\|\|\|\|(\w+)\|\|\|\|[^\n]*\n(.*?)^\|\|\|\|END_OF_RECORD",
    re.MULTILINE | re.DOTALL,
)
_READ = re.compile(r"^Patient\s+(\w+)\s+Note\s+(\w+)", re.MULTILINE)
_PARTS = 5

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line of the phrase file."""

    where: str
    span: Span
    tag: str
    phrase: str = field(repr=False)


def read_physionet(path: Path, conventions: Conventions) -> Iterator[GoldDocument]:
    """Yield the notes of a folder, in the order of its text file.

    Raises:
        ConfigError: A line is malformed, names no note, or its phrase is not at its
        offsets.
    """
    marks = _marks(path / PHRASE_FILE)
    was_read = _notes_read(path / READ_FILE)
    for found in _RECORD.finditer(_text(path / TEXT_FILE)):
        key, text = (found[1], found[2]), found[3]
        if was_read is None or key in was_read:
            spans = [
                GoldSpan(_checked(each, text), each.tag, label, at)
                for at, each in enumerate(marks.pop(key, ()))
                for label in (conventions.label_of(each.tag),)
            ]
            yield ordered("-".join(key), text, spans)
    for lost in marks.values():
        raise ConfigError(f"{lost[0].where}: names no note in {TEXT_FILE}")


def _checked(mark: _Mark, text: str) -> Span:
    if text[mark.span.start : mark.span.end].split() != mark.phrase.split():
        raise ConfigError(f"{mark.where}: its phrase is not at its offsets")
    return mark.span


def _marks(path: Path) -> dict[Key, list[_Mark]]:
    marks: defaultdict[Key, list[_Mark]] = defaultdict(list)
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if line.strip():
            where = f"{path}:{number}"
            try:
                patient, note, start, end, tag, *phrase = line.split(" ", _PARTS)
                span = Span(int(start), int(end))
            except ValueError:
                raise ConfigError(f"{where}: not PATIENT NOTE START END TYPE") from None
            marks[patient, note].append(_Mark(where, span, tag, "".join(phrase)))
    return dict(marks)


def _notes_read(path: Path) -> frozenset[Key] | None:
    if not path.exists():
        return None
    return frozenset((found[1], found[2]) for found in _READ.finditer(_text(path)))


def _text(path: Path) -> str:
    # Line ends must not be translated: offsets count each character.
    return path.read_bytes().decode("utf-8")
