"""How often texts hold a word, and how many bear it as a name, from the packages.

Only `word_table` reads them: they take a second and 150 MB.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import median

import names
import wordfreq

# wordfreq's small lists end at Zipf 3: what they do not hold is at most that frequent.
_UNLISTED = 2.9
_FOREIGN = ("de", "nl", "pl", "it", "sv")


def english() -> dict[str, float]:
    """Return the frequency of each word of English text."""
    found: dict[str, float] = wordfreq.get_frequency_dict("en", wordlist="large")
    return found


@cache
def shares() -> dict[str, float]:
    """Return how many bear each word of English text as a name."""
    listed, found = english(), dict[str, float]()
    for path in names.FILES.values():
        with open(path, encoding="ascii") as lines:
            for line in lines:
                name, percent, *_ = line.lower().split()
                # Only where there is a word to compare with.
                if name in listed:
                    found[name] = max(found.get(name, 0.0), float(percent) / 100)
    return found


def name_scores() -> dict[str, float]:
    """Return `vocabulary.name_score` of each word that somebody bears as a name."""
    listed = english()
    foreign = [wordfreq.get_frequency_dict(each, "small") for each in _FOREIGN]
    found = {}
    for word, share in shares().items():
        count = zipf(listed[word])
        abroad = median(zipf(each.get(word, 0.0)) for each in foreign)
        # The census rounds to 0.001%; half a step is taken for what it prints as 0.000.
        borne = zipf(max(share, 5e-6))
        found[word] = borne - count - max(0.0, count - max(abroad, _UNLISTED))
    return found


def zipf(frequency: float) -> float:
    """Return a frequency on wordfreq's scale: log10 of the occurrences in a billion."""
    return math.log10(frequency) + 9 if frequency else 0.0
