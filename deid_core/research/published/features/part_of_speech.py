"""Parts of speech, by language.

The papers use OpenNLP (Tafvizi and Pacula), TreeTagger (Deleger and others) and GENIA
(He and others).  Here English is tagged by TextBlob's lexicon and Brill rules.  No
maintained package has a tagger for Spanish, which is tagged by a lexical approximation:
closed classes by list, other words by ending, case and digits.  Both are weaker than
the papers' taggers.
"""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType

from deid_core.errors import ConfigError
from deid_core.research.packages import needed

_CLOSED = {
    "DET": "el la los las un una unos unas este esta estos estas su sus mi lo al del",
    "ADP": "a ante bajo con contra de desde en entre hacia hasta para por según sin "
    "sobre tras durante mediante",
    "CCONJ": "y e o u ni pero sino aunque",
    "SCONJ": "que si como cuando donde porque pues mientras",
    "PRON": "se le les me nos él ella ellos ellas quien cual cuales",
    "AUX": "es fue era son ser está estaba ha había han haber sido fueron",
    "ADV": "no muy más menos ya también así tras además posteriormente bien",
}
_TAG_OF = {word: tag for tag, words in _CLOSED.items() for word in words.split()}
_ENDINGS = tuple(
    (re.compile(rf"(?:{ending})\Z"), tag)
    for ending, tag in (
        ("mente", "ADV"),
        ("ar|er|ir|ando|iendo|arse|erse|aba|aban|aron|ieron|ió|ó", "VERB"),
        ("ado|ada|ados|adas|ido|ida|idos|idas", "PARTICIPLE"),
        ("ico|ica|icos|icas|oso|osa|al|ales|ivo|iva|ante|ble|bles", "ADJ"),
    )
)


def tags_of(words: Sequence[str], language: str) -> list[str]:
    """Return the part of speech of each word of a sentence.

    Raises:
        ConfigError: There is no tagger for the language, or its package is missing.
    """
    if language not in TAGGERS:
        known = ", ".join(TAGGERS)
        raise ConfigError(
            f"feature part_of_speech: no tagger for language {language!r}; known: "
            f"{known}; leave the group out"
        )
    return TAGGERS[language](words)


def _english(words: Sequence[str]) -> list[str]:
    return [tag for _, tag in _textblob().find_tags(list(words))]


@cache
def _textblob() -> ModuleType:
    parser: ModuleType = needed(
        "textblob.en", "textblob", "feature part_of_speech"
    ).parser
    with warnings.catch_warnings():
        # At the first word it reads its lexicon and leaves the file open.
        warnings.simplefilter("ignore", ResourceWarning)
        parser.find_tags(["a"])
        gc.collect()
    return parser


def _spanish(words: Sequence[str]) -> list[str]:
    return [_spanish_tag(word, first=at == 0) for at, word in enumerate(words)]


def _spanish_tag(word: str, *, first: bool) -> str:
    lower = word.lower()
    if not any(map(str.isalnum, word)):
        return "PUNCT"
    if any(map(str.isdigit, word)):
        return "NUM"
    if lower in _TAG_OF:
        return _TAG_OF[lower]
    if word[0].isupper() and not first:
        return "PROPN"
    return next((tag for ending, tag in _ENDINGS if ending.search(lower)), "NOUN")


TAGGERS: Mapping[str, Callable[[Sequence[str]], list[str]]] = {
    "en": _english,
    "es": _spanish,
}
"""Every tagger by language."""
