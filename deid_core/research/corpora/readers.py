"""Read gold corpora; the format is recognised by content.

* ``spans``: JSON lines of ``{id, text, spans: [{start, end, label}], decoys?}``; a span
  can have ``kinds``, see `GoldSpan`; the kind of note is ``note_type``, ``specialty``
  or ``section``.
* ``asq``: JSON lines of ``{id, text, tags: [{identifier_type, value}]}``; a value is
  found if all its occurrences in the text are.
* ``brat``: a folder of ``.txt`` and ``.ann`` files, offsets in code points.
* ``i2b2-2006``, ``i2b2-2014``: see `i2b2`.
* ``physionet``: see `physionet`.
* ``conll``: see `conll`.
* ``marked``: marks in the text and records, see `marked`.

The name of a corpus that comes with the library (`installed`) takes the place of a
path.

Errors name file and line; they never quote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from deid_core.document import Span
from deid_core.errors import ConfigError

from .conll import CONLL_FILES, read_conll
from .conventions import PLAIN, Conventions, Rows, conventions_for
from .corpus import Corpus, GoldDocument, GoldSpan, ordered
from .i2b2 import read_i2b2_2006, read_i2b2_2014
from .installed import CONVENTIONS, INSTALLED, is_installed, text_of
from .marked import is_marked, marked_notes, read_marked
from .physionet import TEXT_FILE, read_physionet

Reader = Callable[[Path, Conventions], Iterator[GoldDocument]]
# The first pattern that matches decides the format of a folder or file.
_IN_FOLDER = (
    ("brat", "*.ann"),
    ("i2b2-2014", "*.xml"),
    ("physionet", TEXT_FILE),
    *(("conll", each) for each in CONLL_FILES),
)
_NOTE_TYPES = ("note_type", "specialty", "section")
_OF_FILES = (("i2b2-2006", ("*.xml",)), ("conll", CONLL_FILES))


def read_corpus(
    path: Path,
    *,
    format: str = "auto",
    conventions: str | None = None,
    part: str = "all",
    rows: Rows | None = None,
) -> Corpus:
    """Return the corpus at a path, or a part of it.

    Args:
        path: A file, a folder, or a name in `INSTALLED`.
        format: A name in `READERS`, or ``auto``.
        conventions: The name of the corpus whose tags these are; None goes by the path.
        part: ``dev``, ``test`` or ``all``; see `Conventions.rows`.
        rows: These documents instead of a part.

    Raises:
        ConfigError: It cannot be read, has an unknown tag, or has no such part.
    """
    name = path.stem
    if is_installed(path):
        found = conventions_for(path, conventions or CONVENTIONS)
        documents = list(marked_notes(text_of(str(path)), str(path), found))
        name = INSTALLED[str(path)]
    else:
        found = conventions_for(path, conventions)
        documents = _documents(path, format, found)
    chosen = found.rows(part, len(documents)) if rows is None else rows
    taken = [documents[at] for at in chosen.of(len(documents))]
    if not taken:
        raise ConfigError(f"{path}: {len(documents)} documents, none in these rows")
    return Corpus(
        name=name if found.name == PLAIN else f"{found.name}/{name}",
        part=f"{part if rows is None else 'rows'} {chosen.within(len(documents))}",
        is_held_out=found.holds_out(chosen, len(documents)),
        conventions=found,
        documents=tuple(taken),
    )


def _documents(path: Path, format: str, found: Conventions) -> list[GoldDocument]:
    reader = READERS[format] if format in READERS else READERS[_format_of(path)]
    try:
        return list(reader(path, found))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; check the path") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8; convert it first") from None


def _format_of(path: Path) -> str:
    if is_marked(path):
        return "marked"
    if path.is_dir():
        return next((n for n, sign in _IN_FOLDER if any(path.glob(sign))), "brat")
    for name, signs in _OF_FILES:
        if any(path.match(sign) for sign in signs):
            return name
    for value, where in _lines(path):
        for key, format in (("spans", "spans"), ("tags", "asq")):
            if key in value:
                return format
        raise ConfigError(f'{where}: neither "spans" nor "tags"; name the --format')
    raise ConfigError(f"{path}: empty")


def _lines(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield _object(line, f"{path}:{number}"), f"{path}:{number}"
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; check the path") from None


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise ConfigError(f"{where}: not JSON") from None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise ConfigError(f'{where}: needs "id" and "text"')
    if isinstance(value.get("id"), bool) or not isinstance(value.get("id"), str | int):
        raise ConfigError(f"{where}: id: must be a string or an integer")
    return value


def _read_spans(path: Path, conventions: Conventions) -> Iterator[GoldDocument]:
    for value, where in _lines(path):
        try:
            spans = [
                _gold(each, conventions, at) for at, each in enumerate(value["spans"])
            ]
            decoys = [_span(each) for each in value.get("decoys", ())]
            kind = next((str(value[key]) for key in _NOTE_TYPES if key in value), "")
            yield ordered(str(value["id"]), value["text"], spans, decoys, kind)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{where}: spans: {type(error).__name__}") from None


def _gold(value: Mapping[str, Any], conventions: Conventions, at: int) -> GoldSpan:
    tag, kinds = str(value["label"]), tuple(map(str, value.get("kinds", ())))
    return GoldSpan(_span(value), tag, conventions.label_of(tag), at, kinds)


def _span(value: Mapping[str, Any]) -> Span:
    return Span(int(value["start"]), int(value["end"]))


def _read_asq(path: Path, conventions: Conventions) -> Iterator[GoldDocument]:
    for value, where in _lines(path):
        try:
            text, tags = value["text"], value["tags"]
            pairs = [(str(t["value"]), str(t["identifier_type"])) for t in tags]
            spans = [
                GoldSpan(span, tag, conventions.label_of(tag), at)
                for at, (sought, tag) in enumerate(dict.fromkeys(pairs))
                for span in occurrences(text, sought)
            ]
            yield ordered(str(value["id"]), text, spans)
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{where}: tags: {type(error).__name__}") from None


def occurrences(text: str, value: str) -> list[Span]:
    """Return the occurrences of a value in a text, left to right, disjoint.

    Whole words are preferred: ``Ann`` is not found in ``Anna`` if it occurs elsewhere.
    """
    if not value:
        return []
    inner = re.escape(value)
    for pattern in (rf"(?<![^\W_]){inner}(?![^\W_])", inner):
        if spans := [Span(*found.span()) for found in re.finditer(pattern, text)]:
            return spans
    return []


def _read_brat(path: Path, conventions: Conventions) -> Iterator[GoldDocument]:
    for file in sorted(path.glob("*.txt")):
        # Line ends must not be translated: offsets count each character.
        text = file.read_bytes().decode("utf-8")
        lines = file.with_suffix(".ann").read_bytes().decode("utf-8").split("\n")
        spans: list[GoldSpan] = []
        for at, line in enumerate(lines):
            if line.startswith("T"):
                where = f"{file.with_suffix('.ann')}:{at + 1}"
                tag, marked = _brat_marks(line, text, where)
                label = conventions.label_of(tag)
                spans += (GoldSpan(span, tag, label, at) for span in marked)
        yield ordered(file.stem, text, spans)


def _brat_marks(line: str, text: str, where: str) -> tuple[str, list[Span]]:
    """Return tag and spans of a text-bound line: ``T1<tab>TAG 0 5;8 9<tab>text``."""
    try:
        _, marks, inner = line.rstrip("\r").split("\t")
        tag, offsets = marks.split(" ", 1)
        pairs = [piece.split() for piece in offsets.split(";")]
        spans = [Span(int(start), int(end)) for start, end in pairs]
    except ValueError:
        raise ConfigError(f"{where}: not TAG START END") from None
    pieces = " ".join(text[span.start : span.end] for span in spans)
    if pieces.split() != inner.split():
        raise ConfigError(f"{where}: its text is not at its offsets")
    return tag, spans


READERS: Mapping[str, Reader] = {
    "spans": _read_spans,
    "asq": _read_asq,
    "brat": _read_brat,
    "i2b2-2006": read_i2b2_2006,
    "i2b2-2014": read_i2b2_2014,
    "physionet": read_physionet,
    "conll": read_conll,
    "marked": read_marked,
}
"""Every format by its name."""
