"""The texts of notes and messages de-identified, and messages rebuilt and checked.

Scrub and `phistream rescrub` use all of it; files and the gateway the texts and
`rebuilt`.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from deid_core import (
    Deidentifier,
    DeidError,
    DetectorFailed,
    Document,
    OtherLanguage,
    ResidueFound,
    ScrubbedDocument,
)
from streams.engine.errors import InvalidRecord
from streams.engine.observer import Entered, Step, unobserved
from streams.engine.reasons import ReasonCode
from streams.engine.records import Record
from streams.formats.readers import reader_of
from streams.model.outputs import received_ms
from streams.model.parts import OpenedPart, Rebuilt, Values
from streams.pipeline.publish import PatientValues

from .documents import PartDocuments
from .join import Joined
from .outputs import ScrubOutputs

if TYPE_CHECKING:
    from streams.engine.runner import Outcome

_Other = TypeVar("_Other")
Result = ScrubbedDocument | DeidError
_Same = tuple[str, str, str, bool]


class NoteScrubber:
    """De-identifies joined notes, each with the key of its time.

    Args:
        make: Returns the pipeline of deid_core; called again by `rebuild`.
            Its key does not matter.
        outputs: Makes the outputs of scrubbed notes.
        clock: Seconds since 1970.
        entered: Called at each step.
    """

    def __init__(
        self,
        make: Callable[[], Deidentifier],
        outputs: ScrubOutputs,
        clock: Callable[[], float] = time.time,
        entered: Entered = unobserved,
    ) -> None:
        self._make = make
        self._keys = outputs.keys
        self._outputs = outputs
        self._clock = clock
        self._entered = entered
        self._systems = self._made()

    def outcomes(self, prepared: Sequence[Joined | _Other]) -> list[Outcome | _Other]:
        """Return what each joined note gives; what is none is returned as it is."""
        joined = [note for note in prepared if isinstance(note, Joined)]
        texts: dict[str, Texts] = {}
        for note in joined:
            key_id = self._key_id(note.record)
            if key_id not in texts:
                texts[key_id] = Texts(self._systems[key_id])
            texts[key_id].add(note.documents.texts)
        if joined:
            self._entered(Step.DETECT, [note.record for note in joined])
        for of_key in texts.values():
            of_key.scrub()
        return [
            self._outcome(note, texts[self._key_id(note.record)])
            if isinstance(note, Joined)
            else note
            for note in prepared
        ]

    def rebuild(self) -> None:
        """Replace the pipeline, which an interrupted call may have been changing."""
        self._systems = self._made()

    def _outcome(self, joined: Joined, texts: Texts) -> Outcome:
        self._entered(Step.ENCODE, (joined.record,))
        try:
            documents, values = joined.documents, self._values(joined)
            scrubbed = texts.of(documents.texts)
            if isinstance(documents, PartDocuments):
                part = rebuilt(values, documents, scrubbed)
                return self._outputs.of_message(joined, part, scrubbed, self._now())
            [text] = scrubbed
            return self._outputs.of(joined, text, values, self._now())
        except InvalidRecord as error:
            return error

    def _values(self, joined: Joined) -> PatientValues:
        record = joined.record
        return PatientValues(
            self._system(record), joined.document, self._outputs.pseudonyms(record)
        )

    def _made(self) -> dict[str, Deidentifier]:
        """Return the pipeline of each key; they share their detectors."""
        made = self._make()
        return {key.id: made.with_key(key.value) for key in self._keys}

    def _key_id(self, record: Record) -> str:
        return self._keys.at(received_ms(record)).id

    def _system(self, record: Record) -> Deidentifier:
        return self._systems[self._key_id(record)]

    def _now(self) -> int:
        return int(self._clock() * 1000)


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
        for document in documents:
            alike = self._documents.setdefault(_same(document), [])
            if _place(alike, document) is None:
                alike.append(document)

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
        scrubbed = []
        for document in documents:
            same = _same(document)
            place = _place(self._documents[same], document) or 0
            result = self._results[same, place]
            if isinstance(result, DeidError):
                raise InvalidRecord(code_of(result), str(result))
            scrubbed.append(result)
        return scrubbed


def rebuilt(
    values: PatientValues,
    documents: PartDocuments,
    scrubbed: Sequence[ScrubbedDocument],
) -> Rebuilt:
    """Return a part of a message, rebuilt from its scrubbed texts and checked.

    Where a value of the record is in it (a code that is the patient's ZIP code), it is
    rebuilt once more without such values.

    Args:
        values: Of its patient.
        documents: Of the part.
        scrubbed: Its texts, in their order.

    Raises:
        InvalidRecord: It can't be rebuilt, or a value of the record leaked.
    """
    for writes in (values, replace(values, are_compared=True)):
        result = _rebuilt(documents.part, scrubbed, writes)
        shown = [*_shown(documents.format, result)]
        if not values.deidentifier.leaked_beside(values.document, shown):
            return result
    raise InvalidRecord(
        ReasonCode.RESIDUE,
        "notes: the rebuilt message holds a value of the patient's record",
    )


def _rebuilt(
    part: OpenedPart, scrubbed: Sequence[ScrubbedDocument], values: Values
) -> Rebuilt:
    try:
        return part.rebuilt(scrubbed, values)
    except (InvalidRecord, ModuleNotFoundError):
        raise
    except Exception as error:
        # Not logged: commands log the text of an exception, which may be a value.
        raise InvalidRecord(
            ReasonCode.DEID_ERROR,
            f"notes: {type(error).__name__} in {_place_of(error)} while the message "
            "was rebuilt; report it",
        ) from None


def _shown(format: str, part: Rebuilt) -> Iterator[str]:
    """Yield what a rebuilt part shows, and the messages inside."""
    yield reader_of(format).shown(part.value)
    for inner, message in part.enclosed:
        yield from _shown(inner, message)


def _place_of(error: Exception) -> str:
    """Return file and line of our own code or a library's that raised an error."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def _same(document: Document) -> _Same:
    """Return what is equal of documents that give the same result, but the record."""
    is_vocabulary = document.is_vocabulary
    return document.patient, document.note_type, document.text, is_vocabulary


def _place(alike: Sequence[Document], document: Document) -> int | None:
    """Return which of some documents has the same record."""
    for place, other in enumerate(alike):
        if other.known is document.known or other.known == document.known:
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
