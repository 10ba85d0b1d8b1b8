"""``phistream scrub``: the library on files, without any Kafka."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import orjson
import typer
from rich.console import Console

from deid_core import Deidentifier, Document, ScrubbedDocument
from schemas import SchemaError, checker

from ..errors import FatalError, InvalidRecord
from ..intake.route import route
from ..known import known_identifiers
from ..patients import Demographics, PatientRecord, fold
from ..scrub.processor import annotations_json
from ..settings import read_key
from ..sources import messages_in
from .explain import Explainer

BATCH = 256


class Format(StrEnum):
    """What the input is."""

    AUTO = "auto"
    TEXT = "text"
    HL7 = "hl7"
    JSONL = "jsonl"


SUFFIXES = {
    ".hl7": Format.HL7,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
}


def scrub(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Text, HL7 or JSON lines; - is standard input.", allow_dash=True
        ),
    ],
    format: Annotated[
        Format, typer.Option("--format", help="auto goes by the suffix, else text.")
    ] = Format.AUTO,
    annotations: Annotated[
        bool,
        typer.Option(
            "--annotations",
            help="With jsonl: what was found, with offsets of the input.",
        ),
    ] = False,
    preset: Annotated[str, typer.Option(help="Detection: a name or file.")] = "hybrid",
    policy: Annotated[
        str, typer.Option(help="Replacement: a name or file.")
    ] = "safe-harbor",
    key_file: Annotated[
        Path | None,
        typer.Option(help="Secret key, for policies that need one: phistream key."),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show instead each note marked, and who found what.  Shows PHI!",
        ),
    ] = False,
    explain_html: Annotated[
        Path | None,
        typer.Option(help="Write that as an HTML page instead.  Holds PHI!"),
    ] = None,
) -> None:
    """Scrub files to standard output; a note that is refused makes the status 1.

    JSON lines are {"id", "text"[, "patient": demographics of patients/v1]
    [, "patient_id", "note_type"]}.  Surrogates are the same within a patient: that of
    the HL7 message or of the line's patient_id; else within a note.
    """
    if annotations and (explain or explain_html):
        raise typer.BadParameter("--annotations goes with neither --explain")
    key = read_key(key_file, "--key-file") if key_file else None
    deidentifier = Deidentifier.from_names(preset=preset, policy=policy, key=key)
    explainer = Explainer(
        deidentifier, terminal=explain, page=explain_html, names=(preset, policy)
    )
    refused = 0
    for path in files:
        kind = format if format is not Format.AUTO else _format_of(path)
        with _opened(path) as stream:
            documents = READERS[kind](path, stream)
            if explain or explain_html:
                refused += _explain_all(explainer, documents)
            else:
                refused += _scrub_all(deidentifier, documents, kind, annotations)
    explainer.finish()
    if refused:
        were = "note was" if refused == 1 else "notes were"
        _say(f"{refused} {were} refused and not written")
        raise typer.Exit(1)


def _explain_all(
    explainer: Explainer, documents: Iterable[Document | InvalidRecord]
) -> int:
    refused = 0
    for reason in explainer.add(documents):
        refused += 1
        _say(f"refused: {reason}")
    return refused


def _scrub_all(
    deidentifier: Deidentifier,
    documents: Iterable[Document | InvalidRecord],
    kind: Format,
    with_annotations: bool,
) -> int:
    refused = 0
    pending = iter(documents)
    while batch := list(islice(pending, BATCH)):
        good = [each for each in batch if isinstance(each, Document)]
        results = iter(deidentifier.deidentify_batch(good))
        for each in batch:
            result = next(results) if isinstance(each, Document) else each
            if isinstance(result, ScrubbedDocument):
                _write(result, kind, with_annotations)
            else:
                refused += 1
                _say(f"refused: {result}")
    sys.stdout.flush()
    return refused


def _write(result: ScrubbedDocument, kind: Format, with_annotations: bool) -> None:
    if kind is Format.TEXT:
        sys.stdout.write(result.text)
        return
    line: dict[str, Any] = {"id": result.id, "text": result.text}
    if with_annotations:
        line["annotations"] = [
            # The model's own tag, where it is finer than our label.
            {**each, "tag": found.tag} if found.tag else each
            for each, found in zip(
                annotations_json(result), result.annotations, strict=True
            )
        ]
    sys.stdout.write(orjson.dumps(line).decode() + "\n")


def _text(path: Path, stream: BinaryIO) -> Iterator[Document]:
    try:
        # Line ends stay as they are: no universal newlines.
        text = stream.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FatalError(f"{path}: not UTF-8; convert it first") from None
    yield Document(str(path), text)


def _json_lines(path: Path, stream: BinaryIO) -> Iterator[Document | InvalidRecord]:
    for number, line in enumerate(stream, start=1):
        if line.strip():
            yield _document(line, f"{path}:{number}")


def _document(line: bytes, place: str) -> Document | InvalidRecord:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return InvalidRecord("bad_json", f"{place}: not JSON")
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return InvalidRecord("schema", f'{place}: needs "id" and "text"')
    if "id" not in value:
        return InvalidRecord("schema", f'{place}: needs "id"')
    patient = value.get("patient")
    known = None
    if patient is not None:
        try:
            checker("note_event")(_as_event(patient))
        except SchemaError as error:
            return InvalidRecord("schema", f"{place}: patient: {error}")
        known = Demographics.from_json(patient)
    return Document(
        str(value["id"]),
        value["text"],
        known_identifiers(known),
        patient=str(value.get("patient_id", "")),
        note_type=str(value.get("note_type", "")),
    )


def _as_event(demographics: object) -> dict[str, Any]:
    """Wrap demographics so that the event's schema can check them."""
    patient = {"assigning_authority": "", "id": "-"}
    return {
        "note_id": "-",
        "patient": patient,
        "text": "-",
        "demographics": demographics,
    }


def _hl7(path: Path, stream: BinaryIO) -> Iterator[Document | InvalidRecord]:
    """Yield the notes of a file's messages, joined with its own patient updates."""
    patients: dict[bytes, PatientRecord] = {}
    for ordinal, value in enumerate(messages_in(path, stream)):
        try:
            routed = route(value)
        except InvalidRecord as error:
            place = f"{path} message {ordinal + 1}"
            yield InvalidRecord(error.code, f"{place}: {error.reason}")
            continue
        for update in routed.updates:
            key = update.patient.key
            patients[key] = fold(patients.get(key), update)
        for number, note in enumerate(routed.notes):
            record = patients.get(note.patient.key)
            known = known_identifiers(record, note.demographics)
            yield Document(
                f"{path}#{ordinal + 1}.{number + 1}",
                note.text,
                known,
                note.patient.key.decode(),
                note.note_type,
            )


READERS = {Format.TEXT: _text, Format.JSONL: _json_lines, Format.HL7: _hl7}


def _format_of(path: Path) -> Format:
    return SUFFIXES.get(path.suffix.lower(), Format.TEXT)


def _opened(path: Path) -> BinaryIO:
    if str(path) == "-":
        return sys.stdin.buffer
    try:
        return path.open("rb")
    except OSError as error:
        raise FatalError(f"{path}: {error.strerror}; check the path") from None


def _say(message: str) -> None:
    Console(stderr=True).print(f"phistream: {message}", markup=False, soft_wrap=True)
