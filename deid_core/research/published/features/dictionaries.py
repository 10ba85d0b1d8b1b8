"""Build a recipe's dictionaries from packages, our lists and the training documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import names
import pycountry

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.language.lexicons import is_vocabulary, load_list
from deid_core.research.corpora.corpus import GoldDocument
from deid_core.research.gazetteer import country_names
from deid_core.research.training.list_sources import LIST_SOURCES
from deid_core.runtime.toml_files import refuse_unknown

TRAINING = "training"
_WORD = re.compile(r"\w+")


def _census(kind: str) -> Iterable[str]:
    refuse_unknown([kind], tuple(names.FILES), "list source census")
    with open(names.FILES[kind], encoding="ascii") as lines:
        return [line.split(None, 1)[0].lower() for line in lines]


def _country_names(language: str) -> Iterable[str]:
    if language == "en":
        return [each.name for each in pycountry.countries]
    return country_names(language)


SOURCES: Mapping[str, Callable[[str], Iterable[str]]] = {
    **LIST_SOURCES,
    "countries": _country_names,
    "census": _census,
    "lexicon": load_list,
}
"""Every source by its name, except `TRAINING`: values of a label in the training text.

The argument of a source follows a colon, with ``+`` between words:
``words:calle+plaza``.
"""


def dictionary(
    sources: Sequence[str], documents: Sequence[GoldDocument]
) -> tuple[str, ...]:
    """Return the entries of sources in lower case, sorted.

    Raises:
        ConfigError: A source is unknown.
    """
    found: set[str] = set()
    for source in sources:
        name, _, argument = source.partition(":")
        if name == TRAINING:
            found |= _values(documents, argument)
            continue
        refuse_unknown([name], (*SOURCES, TRAINING), "list source")
        found |= _entries(name, argument.replace("+", " "))
    return tuple(sorted(each for each in found if each.strip()))


@cache
def _entries(source: str, argument: str) -> frozenset[str]:
    """Return the entries of a source; reading some takes a second."""
    return frozenset(each.lower() for each in SOURCES[source](argument))


def without_words(
    entries: Sequence[str], documents: Sequence[GoldDocument], language: str
) -> tuple[str, ...]:
    """Return the entries that are not ordinary words.

    Ordinary words are those that the documents have in lower case and, in English,
    those that are more frequent as words than as names (`is_vocabulary`).
    """
    written = {word for each in documents for word in _WORD.findall(each.text)}
    return tuple(
        each
        for each in entries
        if each not in written and not (language == "en" and is_vocabulary(each))
    )


def _values(documents: Sequence[GoldDocument], label: str) -> set[str]:
    try:
        wanted = Label(label)
    except ValueError:
        known = ", ".join(each.value for each in Label)
        raise ConfigError(
            f"list source {TRAINING}: label {label!r} is unknown; known: {known}"
        ) from None
    return {
        " ".join(document.text[each.span.start : each.span.end].lower().split())
        for document in documents
        for each in document.spans
        if each.label is wanted
    }
