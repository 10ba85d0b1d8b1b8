"""The answers, described for OpenAPI; tests check that the real ones keep to them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Annotation(_Model):
    """An identifier that was found; the original text is never in an answer."""

    label: str = Field(description="Category, e.g. NAME:PATIENT.")
    start: int = Field(description="First code point, in the text that was sent.")
    end: int = Field(description="Code point after the last, likewise.")
    scrubbed_start: int = Field(description="Where it begins in the scrubbed text.")
    scrubbed_end: int = Field(description="Where it ends in the scrubbed text.")
    score: float = Field(description="Confidence of the detector, 0 to 1.")
    detector: str = Field(description="Detector and rule, e.g. rules/ssn.")


class _Common(_Model):
    patient: str = Field(
        default="",
        description="Pseudonym of the patient; absent where the request names none.",
    )
    join: Literal["found", "missing"] = Field(
        description="Whether the request gave a name of the patient to look for.",
    )
    key_id: str = Field(
        description="Which key pseudonyms depend on. Without pseudonym_key_file it is "
        "made at each start.",
    )
    preset: str = Field(description="Name of the detection preset.")
    policy: str = Field(description="Name of the replacement policy.")


class Note(_Common):
    """A scrubbed note."""

    note_id: str = Field(
        description="Pseudonym of the note's id, the same as on notes.scrubbed under "
        "one key; with note_id=sent the id as it was sent.",
    )
    text: str = Field(description="The scrubbed text.")
    annotations: list[Annotation] = Field(description="What was found.")
    other_language: str = Field(
        default="",
        description="Language (BCP 47) of a note in one that the preset does not read.",
    )


class Error(_Model):
    """Why a request, or a note of a batch, is refused."""

    code: str = Field(description="Reason code; deploy/runbook.md says what to do.")
    reason: str = Field(
        default="",
        description="Names a field or header and the next step, never a value; absent "
        "where the service failed.",
    )


class Refusal(_Model):
    """The answer to a request, or to a note of a batch, that is refused."""

    error: Error = Field(description="Why it is refused.")


class Batch(_Model):
    """The answer to a batch."""

    results: list[Note | Refusal] = Field(
        description="A note or an error for each that was sent, in the same order.",
    )


class Message(_Common):
    """A rebuilt message of one patient."""

    media_type: str = Field(description="Of the content.")
    content: str = Field(description="The message without identifiers.")
    removed: dict[str, int] = Field(
        description="Numbers of values that were removed, by place in the format.",
    )
    unreadable: dict[str, int] = Field(
        description="Numbers of documents that were removed because they can't be "
        "opened, by kind.",
    )


class Messages(_Model):
    """A message, rebuilt."""

    messages: list[Message] = Field(
        description="One for each patient that the message names.",
    )
    notes: list[Note] = Field(description="Its narratives, as the stream has them.")


class RebuiltDocument(_Common):
    """A document, rebuilt."""

    media_type: str = Field(description="Of the content; a PDF becomes text/plain.")
    content: str = Field(description="The document without identifiers.")
    annotations: list[Annotation] = Field(
        description="What was found; offsets are those of the document's text.",
    )


class Health(_Model):
    """The state of the service."""

    ok: bool = Field(description="Whether it is well, or ready.")
