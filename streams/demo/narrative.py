"""Write a clinical note about a scene from the templates of one kind."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .draft import Draft, Narrative
from .pools import NoteKind, NoteSection, Template
from .slots import SLOTS, Scene, missing_slots

MAX_ATTEMPTS = 50
SENTENCES_A_LINE = 4
CLOSING_WORDS = 8


def write_note(kind: NoteKind, scene: Scene, *, words: int) -> Narrative:
    """Write a note of about this many words, title and signature included.

    A draft in which an identifier is also a part of another word is discarded.

    Raises:
        RuntimeError: ``MAX_ATTEMPTS`` drafts were discarded.
    """
    for _ in range(MAX_ATTEMPTS):
        narrative = _draft(kind, scene, words).finish()
        if narrative is not None:
            return narrative
    raise RuntimeError(f"no unambiguous {kind.name} note; change its templates")


def _draft(kind: NoteKind, scene: Scene, words: int) -> Draft:
    draft, rng = Draft(), scene.rng
    missing = missing_slots(scene.person)
    draft.say(rng.choice(kind.titles))
    for template in _head_lines(kind, missing, rng):
        draft.end_line()
        _fill(draft, template, scene)
    words = max(words - CLOSING_WORDS, 1)
    room = max(words - draft.words, 1)
    for number, section in enumerate(kind.sections, start=1):
        until = words - room + room * number // len(kind.sections)
        _write_section(draft, section, scene, until=until, missing=missing)
    close = [each for each in kind.close if not each.slots & missing]
    draft.end_line()
    _fill(draft, rng.choice(close), scene)
    return draft


def _write_section(
    draft: Draft,
    section: NoteSection,
    scene: Scene,
    *,
    until: int,
    missing: frozenset[str],
) -> None:
    usable = [each for each in section.sentences if not each.slots & missing]
    if draft.words >= until or not usable:
        return
    draft.end_line()
    draft.say(section.heading)
    draft.end_line()
    for number, template in enumerate(_endless(usable, scene.rng)):
        if number:
            _separate(draft, number)
        _fill(draft, template, scene)
        if draft.words >= until:
            return


def _separate(draft: Draft, number: int) -> None:
    if number % SENTENCES_A_LINE:
        draft.say(" ")
    else:
        draft.end_line()


def _fill(draft: Draft, template: Template, scene: Scene) -> None:
    for place, part in enumerate(template.parts):
        if place % 2:
            SLOTS[part](draft, scene)
        elif part:
            draft.say(part)


def _head_lines(
    kind: NoteKind, missing: frozenset[str], rng: random.Random
) -> tuple[Template, Template]:
    """Draw a line that names the patient, and another."""
    usable = [each for each in kind.head if not each.slots & missing]
    naming = rng.choice([each for each in usable if "head" in each.slots])
    return naming, rng.choice([each for each in usable if each is not naming])


def _endless(templates: list[Template], rng: random.Random) -> Iterator[Template]:
    """Yield every template once in a random order, and then again."""
    while True:
        yield from rng.sample(templates, len(templates))
