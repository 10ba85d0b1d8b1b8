"""The three postprocessing rules of MIST2 and MCRF2 (Deleger and others 2013).

"Three postprocessing rules [...] to (1) identify EMAIL; (2) match strings to the
entries of our name lexicon, with a match resulting in the assignment of a NAME label;
and (3) label any string as a NAME if the algorithm tagged a matching string NAME in the
document but missed the particular string somewhere else in the same document."

Rules add spans where the model tagged nothing; they change none of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from deid_core.tagger.compiled import Tagged

from .model import TokenModel

NAME, EMAIL, LEXICON = "NAME", "EMAIL", "name"
SCORE = 0.5
_SHORTEST = 3
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}")
# Capitalised, because many surnames in lower case are ordinary words.
_NAME_WORD = re.compile(
    r"(?<![\w@])[^\W\d_a-zà-ÿ][^\W\d_]+(?:['\u2019-][^\W\d_]+)*(?!\w)"
)

Rule = Callable[[str, Sequence[Tagged], TokenModel], Iterable[Tagged]]


def email(text: str, _: Sequence[Tagged], __: TokenModel) -> Iterable[Tagged]:
    """Yield e-mail addresses."""
    for found in _EMAIL.finditer(text):
        yield Tagged(*found.span(), EMAIL, SCORE)


def name_lexicon(text: str, _: Sequence[Tagged], model: TokenModel) -> Iterable[Tagged]:
    """Yield capitalised words of the name lexicon; adjacent words are one name."""
    names = model.resources.lists
    places = [
        found.span()
        for found in _NAME_WORD.finditer(text)
        if LEXICON in names.names(found[0])
    ]
    start = places[0][0] if places else 0
    for (_begin, end), (following, _end) in pairwise([*places, (len(text) + 1, 0)]):
        if text[end:following] != " ":
            yield Tagged(start, end, NAME, SCORE)
            start = following


def name_everywhere(
    text: str, tagged: Sequence[Tagged], _: TokenModel
) -> Iterable[Tagged]:
    """Yield the other occurrences of strings that the model tagged as a name."""
    strings = {text[each.start : each.end] for each in tagged if each.tag == NAME}
    searched = [re.escape(each) for each in strings if len(each) >= _SHORTEST]
    if not searched:
        return
    longest_first = "|".join(sorted(searched, key=lambda each: (-len(each), each)))
    for found in re.finditer(rf"(?<!\w)(?:{longest_first})(?!\w)", text):
        yield Tagged(*found.span(), NAME, SCORE)


POST_RULES: Mapping[str, Rule] = {
    "email": email,
    "name_lexicon": name_lexicon,
    "name_everywhere": name_everywhere,
}
"""Every rule by its name."""


def with_rules(
    text: str, tagged: Sequence[Tagged], model: TokenModel, rules: Sequence[str]
) -> list[Tagged]:
    """Return the model's spans and those that the rules add, in order."""
    found = list(tagged)
    for name in rules:
        for each in POST_RULES[name](text, tagged, model):
            if all(
                each.end <= other.start or other.end <= each.start for other in found
            ):
                found.append(each)
    return sorted(found, key=lambda each: each.start)
