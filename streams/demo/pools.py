"""Templates, surnames, sites and clinical words of the ward, from TOML."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from deid_core.runtime.toml_files import table_of

table = partial(table_of, __package__)
_SLOT = re.compile(r"\{(\w+)\}")


def lower_words(text: str) -> list[str]:
    """Return the words of a text in lower case, also those between hyphens."""
    return text.lower().replace("-", " ").split()


@dataclass(frozen=True, slots=True)
class Site:
    """A sending hospital: assigning authority, MSH-3, MSH-4, MSH-12 and MSH-18."""

    authority: str
    facility: str
    application: str
    version: str
    charset: str


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence: ``parts`` are text at even places and ``slots`` at odd ones."""

    parts: tuple[str, ...]
    slots: frozenset[str]


@dataclass(frozen=True, slots=True)
class NoteSection:
    """A part of a note under one heading."""

    heading: str
    sentences: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class NoteKind:
    """The templates of a kind of note: titles, head, sections, closing lines."""

    name: str
    document: tuple[str, str, str]
    titles: tuple[str, ...]
    head: tuple[Template, ...]
    sections: tuple[NoteSection, ...]
    close: tuple[Template, ...]

    @property
    def templates(self) -> tuple[Template, ...]:
        """Every template of this kind."""
        body = [s for section in self.sections for s in section.sentences]
        return (*self.head, *body, *self.close)


@dataclass(frozen=True, slots=True)
class Pools:
    """The lists that notes and people are drawn from.

    ``reserved_surnames`` are the surnames that are words, of both splits.
    """

    word_surnames: tuple[str, ...]
    reserved_surnames: frozenset[str]
    sites: tuple[Site, ...]
    kinds: tuple[NoteKind, ...]
    clinical: Mapping[str, tuple[str, ...]]
    clinical_words: frozenset[str]
    relations: tuple[tuple[str, str, str], ...]


def load_pools(split: Literal["dev", "test"], *, slots: Collection[str]) -> Pools:
    """Read the pools of one split.

    Raises:
        ValueError: A template has a slot that is not among ``slots``.
    """
    own, clinical = table(split), dict(table("clinical"))
    documents = clinical.pop("documents")
    relations = clinical.pop("relations")
    surnames = clinical.pop("word_surnames")
    pools = Pools(
        word_surnames=tuple(surnames[split]),
        reserved_surnames=frozenset(
            name for each in surnames.values() for name in each
        ),
        sites=tuple(Site(**site) for site in own["sites"]),
        kinds=tuple(
            _kind(name, tuple(documents[name]), each)
            for name, each in own["kinds"].items()
        ),
        clinical={name: tuple(words) for name, words in clinical.items()},
        clinical_words=frozenset(
            word
            for decoys in clinical.values()
            for decoy in decoys
            for word in lower_words(decoy)
            if word.isalpha()
        ),
        relations=tuple((code, word, sex) for code, word, sex in relations),
    )
    _refuse_unknown_slots(pools, slots)
    return pools


def _refuse_unknown_slots(pools: Pools, slots: Collection[str]) -> None:
    used = {s for kind in pools.kinds for t in kind.templates for s in t.slots}
    if unknown := sorted(used.difference(slots)):
        known = ", ".join(sorted(slots))
        raise ValueError(f"unknown slots {', '.join(unknown)}; known: {known}")


def _kind(name: str, document: tuple[str, str, str], table: dict[str, Any]) -> NoteKind:
    return NoteKind(
        name=name,
        document=document,
        titles=tuple(table["titles"]),
        head=_templates(table["head"]),
        sections=tuple(
            NoteSection(section["heading"], _templates(section["sentences"]))
            for section in table["sections"]
        ),
        close=_templates(table["close"]),
    )


def _templates(sentences: list[str]) -> tuple[Template, ...]:
    parts = [tuple(_SLOT.split(sentence)) for sentence in sentences]
    return tuple(Template(each, frozenset(each[1::2])) for each in parts)
