"""The same notes in capitals or in lower case, with the same offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from .corpus import Corpus


def _each(change: Callable[[str], str]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        whole = change(text)
        if len(whole) == len(text):
            return whole
        # A character that would become two ("ß") stays as it is.
        pairs = ((old, change(old)) for old in text)
        return "".join(new if len(new) == 1 else old for old, new in pairs)

    return changed


CASES: Mapping[str, Callable[[str], str]] = {
    "as-is": lambda text: text,
    "upper": _each(str.upper),
    "lower": _each(str.lower),
}
"""Every letter case by its name; none changes the length of a text."""


def in_case(corpus: Corpus, case: str) -> Corpus:
    """Return the corpus with its texts in another letter case.

    Raises:
        KeyError: The case is not in `CASES`.
    """
    change = CASES[case]
    documents = [replace(d, text=change(d.text)) for d in corpus.documents]
    return replace(corpus, documents=tuple(documents))
