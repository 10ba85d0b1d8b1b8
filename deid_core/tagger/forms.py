"""New words as their features see them: as written, in lower case, and by character."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .features import bare, is_mark
from .kernels.first_sight import BLANK, CAPITAL, DIGIT, LETTER, MARK, UNKNOWN, Forms
from .words import Codes, code_points

Ints = NDArray[np.int64]

_LONGEST, _END = 128, 64
_BEYOND = 0x3000
_FINAL_SIGMA = "Σ"
"""Its lower case depends on the letters around it."""


def forms_of(codes: Codes, begins: Ints, ends: Ints) -> tuple[Forms, Ints, list[str]]:
    """Return the forms of words whose characters can be taken one by one.

    Args:
        codes: Code points that hold the words.
        begins: Where each word begins, with the blank before it.
        ends: Where each word ends.

    Returns:
        The forms, which of the words these are, and all others as strings, for
        `forms_of_strings`: long words, and those with characters that are rare or
        change their number in lower case.
    """
    classes = _CLASSES.take(codes, mode="clip")
    unknown = np.flatnonzero(classes == UNKNOWN)
    is_plain = ends - begins <= _LONGEST
    is_plain[np.searchsorted(begins, unknown, "right") - 1] = False
    plain = np.flatnonzero(is_plain)
    begins_of, ends_of = begins[plain], ends[plain]
    lower = _LOWER.take(codes, mode="clip")
    others = [
        codes[begin:end].tobytes().decode("utf-32-le", "surrogatepass")
        for begin, end in zip(
            begins[~is_plain].tolist(), ends[~is_plain].tolist(), strict=True
        )
    ]
    forms = Forms(codes, classes, begins_of, ends_of, lower, begins_of, ends_of)
    return forms, plain, others


def forms_of_strings(words: Sequence[str]) -> Forms:
    """Return the forms of words by Python's own rules."""
    # No model learned a long word: its ends say all that can be known of it.
    cut = [
        word if len(word) <= _LONGEST else word[:_END] + word[-_END:] for word in words
    ]
    exact, begins, ends = joined(cut)
    lower, lower_begins, lower_ends = joined(
        word[: len(word) - len(bare(word))] + bare(word).lower() for word in cut
    )
    text = "".join(cut)
    classes = np.fromiter(map(_class_of, text), np.uint8, len(text))
    return Forms(exact, classes, begins, ends, lower, lower_begins, lower_ends)


def joined(words: Iterable[str]) -> tuple[Codes, Ints, Ints]:
    """Return the code points of words in a row; where each begins, and ends."""
    all_words = [*words]
    ends = np.cumsum([0, *map(len, all_words)], dtype=np.int64)
    # A copy: kernels know arrays that may be written from those that may not.
    return code_points("".join(all_words)).copy(), ends[:-1], ends[1:]


def _class_of(character: str) -> int:
    return (
        DIGIT * character.isdigit()
        | LETTER * character.isalpha()
        | CAPITAL * character.isupper()
        | BLANK * character.isspace()
        | MARK * is_mark(character)
    )


def _is_known(character: str) -> bool:
    return len(character.lower()) == 1 and character != _FINAL_SIGMA


_CHARACTERS = [*map(chr, range(_BEYOND))]
# By code point; the last entry is for all beyond it.
_CLASSES = np.array(
    [_class_of(each) if _is_known(each) else UNKNOWN for each in _CHARACTERS]
    + [UNKNOWN],
    dtype=np.uint8,
)
_LOWER = np.array([ord(each.lower()[0]) for each in _CHARACTERS] + [0], np.uint32)
