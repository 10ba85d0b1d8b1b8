"""Feature groups: properties of a word, and of its sentence, section or document.

Sources: [S] Uzuner's Stat De-id as rebuilt by Tafvizi and Pacula, section 4;
[U] Scheurwegs and others 2013, section 2.3; [W] He and others 2015, Table 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from deid_core.errors import ConfigError
from deid_core.research.published.sentences import Sentence
from deid_core.tagger.features import OF_PIECES, PAD_VALUE, PROPERTIES, Values

from .link_grammar import links_of
from .part_of_speech import tags_of
from .resources import Phrases, Resources, longest_phrase

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
Column = Sequence[Sequence[str]]
"""The values of each word of a sentence."""
Group = Callable[[Sentence, Resources], Column]
GROUP_WORDS = 4
"""[U] 2.3: the target and three words to the right."""
_WHOLE_TERM = 8
_MONTHS = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic"
    r"|maa|mei|okt)[^\W\d_]*\.?"
)
PATTERNS: Mapping[str, re.Pattern[str]] = {
    "date": re.compile(
        rf"(?<!\d)(?:\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}|\d{{4}}-\d{{1,2}}-\d{{1,2}}"
        rf"|\d{{1,2}}[-/]\d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th)?(?: (?:of|de))? {_MONTHS}"
        rf"(?:,? (?:del? )?\d{{2,4}})?|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?"
        rf"(?:,? \d{{4}})?)(?!\d)",
        re.IGNORECASE,
    ),
    "year": re.compile(r"(?<![\d/.-])(?:19|20)\d\d(?![\d/-])"),
    "social_security": re.compile(
        r"(?<!\d)(?:\d{3}-\d{2}-\d{4}|\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"
        r"|\d{2}[ /-]?\d{8}[ /-]?\d{2}|\d{8}[A-Z])(?!\w)"
    ),
}
"""[U] 2.3: "regular expressions that refer to social security numbers or date
patterns"; the paper prints none.  Numbers of the US, Belgium and Spain."""


def _has_letter(word: str) -> bool:
    return any(map(str.isalpha, word))


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _has_mark(word: str) -> bool:
    return any(not (each.isalnum() or each.isspace()) for each in word)


_FLAGS: Mapping[str, Callable[[str], bool]] = {
    # [S] 4.2.2 to 4.2.4: "a single binary indicator feature" each.
    "capitalised": lambda word: word[:1].isupper(),
    "punctuation": _has_mark,
    "is_number": lambda word: _NUMBER.fullmatch(word) is not None,
    # [W] Table 2, orthographic features.
    "has_letter": _has_letter,
    "has_capital": lambda word: any(map(str.isupper, word)),
    "all_capitals": lambda word: word.isalpha() and word.isupper(),
    "has_digit": _has_digit,
    "all_digits": str.isdigit,
    "letters_and_digits": lambda word: (
        word.isalnum() and _has_letter(word) and _has_digit(word)
    ),
    "digits_and_punctuation": lambda word: (
        _has_digit(word) and _has_mark(word) and not _has_letter(word)
    ),
}


def _flag(holds: Callable[[str], bool]) -> Values:
    return lambda word, _: ["1"] if holds(word) else []


WORD_GROUPS: Mapping[str, Values] = {
    **{name: of for name, of in PROPERTIES.items() if name not in OF_PIECES},
    **{name: _flag(holds) for name, holds in _FLAGS.items()},
    # [S] 4.2.5: "L indicator features where L is the length of the longest word".
    "characters": lambda word, _: [str(len(word))],
    # [W] Table 2, lexical features.
    "first4": lambda word, _: [word[:4].lower()],
    "last4": lambda word, _: [word[-4:].lower()],
    # [S] 4.4.3, [W]: "whether the lowercase of the token is in the dictionary".
    "dictionary": lambda word, lists: list(lists.names(word)),
}
"""The feature groups of a word alone, by name."""


def lexical_bigrams(sentence: Sentence, _: Resources) -> Column:
    """[S] 4.2.6: the bigram before the word and the bigram after it."""
    words = [word.lower() for word in sentence.words]
    padded = [PAD_VALUE, PAD_VALUE, *words, PAD_VALUE, PAD_VALUE]
    pairs = [f"{one} {other}" for one, other in pairwise(padded)]
    return [(f"<{pairs[at]}", f">{pairs[at + 3]}") for at in range(len(words))]


def part_of_speech(sentence: Sentence, resources: Resources) -> Column:
    """[S] 4.3.2, [W]: the part of speech."""
    return [(tag,) for tag in tags_of(sentence.words, resources.language)]


def heading(sentence: Sentence, _: Resources) -> Column:
    """[S] 4.4.1: the heading of the section."""
    values = (sentence.heading,) if sentence.heading else ()
    return [values] * len(sentence.words)


def syntactic_bigrams(sentence: Sentence, resources: Resources) -> Column:
    """[S] 4.3.1: the two nearest links to the left and to the right."""
    return links_of(sentence.words, resources.language)


def mesh(sentence: Sentence, resources: Resources) -> Column:
    """[S] 4.4.2: the MeSH categories of the term that the word is part of.

    Raises:
        ConfigError: There is no vocabulary.
    """
    if not resources.mesh:
        raise ConfigError(
            "feature mesh: no vocabulary; give a file of TERM<tab>TREE NUMBER, for "
            "English install the extra train, or leave the group out"
        )
    return [
        tuple(dict.fromkeys(" ".join(names).split()))
        for names in _within(sentence, resources.mesh_phrases, _WHOLE_TERM)
    ]


def dictionary_groups(sentence: Sentence, resources: Resources) -> Column:
    """[U] 2.3: the dictionaries of the phrase that the word is part of.

    Phrases of up to four words are looked up in a table of first words, where the paper
    has a suffix tree (Ukkonen 1995): the same phrases are found.
    """
    return _within(sentence, resources.phrases, GROUP_WORDS)


def _within(sentence: Sentence, phrases: Phrases, most: int) -> Column:
    words = [word.lower() for word in sentence.words]
    found: list[dict[str, None]] = [{} for _ in words]
    for at in range(len(words)):
        size, name = longest_phrase(phrases, words, at, most)
        for place in range(at, at + size):
            found[place][name] = None
    return [tuple(each) for each in found]


def pattern_classes(sentence: Sentence, _: Resources) -> Column:
    """[U] 2.3: the patterns that the word is part of."""
    text, starts = "", []
    for word, gap in zip(sentence.words, sentence.gaps, strict=True):
        text += " " * (gap and bool(text))
        starts.append(len(text))
        text += word
    spans = [(n, f.span()) for n, p in PATTERNS.items() for f in p.finditer(text)]
    return [
        tuple(
            dict.fromkeys(
                name
                for name, (start, end) in spans
                if at < end and start < at + len(word)
            )
        )
        for at, word in zip(starts, sentence.words, strict=True)
    ]


SENTENCE_GROUPS: Mapping[str, Group] = {
    "lexical_bigrams": lexical_bigrams,
    "part_of_speech": part_of_speech,
    "heading": heading,
    "syntactic_bigrams": syntactic_bigrams,
    "mesh": mesh,
    "dictionary_groups": dictionary_groups,
    "pattern_classes": pattern_classes,
}
"""The feature groups of a sentence, by name."""
