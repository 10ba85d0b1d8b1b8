"""Processing of a note or part of a message once its patient is known.

Scrub and the gateway share it: the texts to scrub, the rebuilt part, the last check.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deid_core import (
    Deidentifier,
    DeidError,
    DetectorFailed,
    Document,
    KnownIdentifiers,
    Label,
    OtherLanguage,
    ResidueFound,
    ScrubbedDocument,
)
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.hl7.framing import messages_of
from streams.formats.readers import reader_of, require_plain
from streams.model.notes import ClinicalNote
from streams.model.parts import Reader, Rebuilt, Values

Result = ScrubbedDocument | DeidError
_Same = tuple[str, str, str, bool]


# Segments of HL7, properties of JSON: no value has an unescaped quote before a colon.
_SEGMENT = re.compile(r"(?<![^\r])[A-Z][A-Z0-9]{2}(?![A-Za-z0-9])")
_PROPERTY = re.compile(r'"[A-Za-z_]+"(?=:)')
_TAG = re.compile(r"<[^<>]*>")
_BETWEEN = "\n\n\n\n"
_ATTRIBUTE_VALUE = re.compile(r'(?<!xmlns)(?<!xmlns:sdtc)(?<!xmlns:xsi)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class NoteDocuments:
    """A note, or part of a message, as documents.

    Args:
        document: Names the patient and the record; for a part its text is empty.
        texts: What is to be scrubbed: the note, or the free texts of the part.
    """

    document: Document = field(repr=False)
    texts: tuple[Document, ...] = field(repr=False)


def documents_of(
    note: ClinicalNote, known: KnownIdentifiers, reader: Reader | None = None
) -> NoteDocuments:
    """Return a note, or part of a message, as documents.

    Args:
        note: The note or part.
        known: Everything that is known of its patient.
        reader: Of the part; without, the one of its format.

    Raises:
        InvalidRecord: The part can't be read, or a text of it holds a document.
    """
    patient = note.patient.key.decode()
    document = Document(note.note_id, note.text, known, patient, note.note_type)
    if not note.format:
        return NoteDocuments(document, (document,))
    document = replace(document, text="")
    texts = (reader or reader_of(note.format)).texts(note.text)
    for each in texts:
        require_plain(each.text)
    return NoteDocuments(
        document,
        tuple(
            replace(
                document,
                text=each.text,
                note_type=each.note_type,
                is_vocabulary=each.is_vocabulary,
            )
            for each in texts
        ),
    )


class Texts:
    """The texts of a batch; one that occurs twice for a patient is scrubbed once.

    A message follows its notes, and holds them again.
    """

    def __init__(self, deidentifier: Deidentifier) -> None:
        self._deidentifier = deidentifier
        self._documents: dict[_Same, list[Document]] = {}
        self._results: Mapping[tuple[_Same, int], Result] = {}

    def add(self, documents: Iterable[Document]) -> None:
        """Take documents that are to be scrubbed."""
        for each in documents:
            alike = self._documents.setdefault(_same(each), [])
            if _place(alike, each) is None:
                alike.append(each)

    def scrub(self) -> None:
        """Scrub all documents."""
        places = [
            (same, place)
            for same, alike in self._documents.items()
            for place in range(len(alike))
        ]
        results = self._deidentifier.deidentify_batch(
            [self._documents[same][place] for same, place in places]
        )
        self._results = dict(zip(places, _checked(results), strict=True))

    def of(self, documents: Iterable[Document]) -> list[ScrubbedDocument]:
        """Return the scrubbed documents of some that were added.

        Raises:
            InvalidRecord: One of them is refused.
        """
        found = []
        for each in documents:
            same = _same(each)
            place = _place(self._documents[same], each) or 0
            result = self._results[same, place]
            if isinstance(result, DeidError):
                raise InvalidRecord(code_of(result), str(result))
            found.append(result)
        return found


def rebuilt(
    deidentifier: Deidentifier,
    values: Values,
    note: ClinicalNote,
    document: Document,
    scrubbed: Sequence[ScrubbedDocument],
    reader: Reader | None = None,
) -> Rebuilt:
    """Return a part of a message, rebuilt from its scrubbed texts and checked.

    Where a value of the record is in it (a code that is the patient's ZIP code), it is
    rebuilt once more without such values.

    Args:
        deidentifier: Has scrubbed the texts.
        values: Of the patient.
        note: The part.
        document: Names the patient and the record.
        scrubbed: The part's texts, in their order.
        reader: Of the part; without, the one of its format.

    Raises:
        InvalidRecord: It can't be rebuilt, or a value of the record leaked.
    """
    reader = reader or reader_of(note.format)
    for each in (values, _Compared(values, deidentifier, document)):
        result = _rebuilt(reader, note, scrubbed, each)
        texts = [*_texts_of(note.format, result)]
        if not deidentifier.leaked_beside(document, texts):
            return result
    raise InvalidRecord(
        ReasonCode.RESIDUE,
        "notes: the rebuilt message holds a value of the patient's record",
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    """Values, each of which is compared with the record before it is written."""

    _values: Values
    _deidentifier: Deidentifier
    _document: Document = field(repr=False)

    def replaced(self, label: Label, value: str) -> str:
        return self._values.replaced(label, value)

    def day(self, day: str) -> str:
        return self._values.day(day)

    def pseudonym(self, kind: str, value: str) -> str:
        return self._values.pseudonym(kind, value)

    def is_leak(self, written: str) -> bool:
        return bool(self._deidentifier.leaked_beside(self._document, [written]))


def _rebuilt(
    reader: Reader,
    note: ClinicalNote,
    scrubbed: Sequence[ScrubbedDocument],
    values: Values,
) -> Rebuilt:
    try:
        return reader.rebuilt(note.text, scrubbed, values)
    except (InvalidRecord, ModuleNotFoundError):
        raise
    except Exception as error:
        # Not logged: commands log the text of an exception, which may be a value.
        raise InvalidRecord(
            ReasonCode.DEID_ERROR,
            f"notes: {type(error).__name__} in {_place_of(error)} while the message "
            "was rebuilt; report it",
        ) from None


def _texts_of(format: str, part: Rebuilt) -> Iterator[str]:
    """Yield the values of a rebuilt part, and of the messages inside."""
    yield values_of(format, part)
    for inner, each in part.enclosed:
        yield from _texts_of(inner, each)


def _place_of(error: Exception) -> str:
    """Return file and line of our own code or a library's that raised an error."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def text_of(format: str, part: Rebuilt) -> str:
    """Return a rebuilt part as text.

    Raises:
        InvalidRecord: It is not in the character set that it declares.
    """
    if format == "hl7":
        return "\r".join((*messages_of(part.value), ""))
    return part.value.decode()


def values_of(format: str, part: Rebuilt) -> str:
    """Return a rebuilt part without the names that its format gives to places.

    A patient may be called like an element.

    Raises:
        InvalidRecord: It is not in the character set that it declares.
    """
    text = text_of(format, part)
    if format == "ccda":
        # Elements part values, or words of a narrative: `Quell<content>wright`.
        return _BETWEEN.join((_TAG.sub("", text), _TAG.sub(_values_of_tag, text)))
    return (_SEGMENT if format == "hl7" else _PROPERTY).sub("", text)


def _values_of_tag(tag: re.Match[str]) -> str:
    return "\n".join(("", *_ATTRIBUTE_VALUE.findall(tag[0]), ""))


def _same(document: Document) -> _Same:
    """Return what is equal of documents that give the same result, but the record."""
    is_vocabulary = document.is_vocabulary
    return document.patient, document.note_type, document.text, is_vocabulary


def _place(alike: Sequence[Document], document: Document) -> int | None:
    """Return which of some documents has the same record."""
    for place, each in enumerate(alike):
        if each.known is document.known or each.known == document.known:
            return place
    return None


def _checked(results: Sequence[Result]) -> Sequence[Result]:
    """Return the results, unless memory ran out: then any of them may be wrong.

    Raises:
        MemoryError: A detector ran out of memory.  The process ends, and the record
            that takes all memory is found like any other that ends its worker.
    """
    for result in results:
        if isinstance(result, DetectorFailed) and str(result).endswith("MemoryError"):
            raise MemoryError
    return results


def code_of(error: DeidError) -> ReasonCode:
    """Return the reason of a dead letter, of a text that is refused."""
    if isinstance(error, DetectorFailed):
        return ReasonCode.DETECTOR_FAILED
    if isinstance(error, OtherLanguage):
        return ReasonCode.OTHER_LANGUAGE
    is_leak = isinstance(error, ResidueFound)
    return ReasonCode.RESIDUE if is_leak else ReasonCode.DEID_ERROR
