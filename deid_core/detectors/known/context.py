"""What stands around a word and says whether it is a name here.

Every question is about one place in one note, and looks at most three words away.
"""

from __future__ import annotations

from ...lexicons import load_list
from .note import Note, Word

_APOSTROPHES = "'\u2019`\u00b4"
_INSIDE_SENTENCE = " ,(\"'/-"
_MODALS = frozenset({"will", "may"})
_ABBREVIATION = 4


def is_title_case(text: str) -> bool:
    """Return whether a word is capitalised, not shouted: "McKay", but not "LOW"."""
    return text[0].isupper() and (len(text) == 1 or not text.isupper())


def has_honorific(note: Note, word: Word) -> bool:
    """Return whether a title stands before the word: "Mr. Low", "dr young".

    Not so for "the dr will call": a small modal verb is a verb.
    """
    if word.normal in _MODALS and word.text.islower():
        return False
    return _honorific(note, word) is not None


def has_doctor_title(note: Note, start: int) -> bool:
    """Return whether the title before a place is a provider's."""
    gap, before = note.before(start)
    return (
        before is not None
        and _is_title_gap(gap)
        and before.normal in load_list("doctor_titles")
    )


def _honorific(note: Note, word: Word) -> Word | None:
    gap, before = note.before(word.start)
    if before is None or not _is_title_gap(gap):
        return None
    return before if before.normal in load_list("honorifics") else None


def _is_title_gap(gap: str) -> bool:
    return len(gap) <= 3 and not gap.strip(" .")


def has_cue(note: Note, word: Word) -> bool:
    """Return whether the word fills a field of a name: "Patient: LOW"."""
    gap, before = note.before(word.start)
    return (
        before is not None
        and ":" in gap
        and not gap.strip(" :\t")
        and not word.text.islower()
        and before.normal in load_list("name_cues")
    )


def is_eponym(note: Note, word: Word) -> bool:
    """Return whether the word names a disease, sign, device or procedure here.

    That is so for a surname of the eponym list, with or without possessive, at once
    before one of the eponym nouns: "Foley catheter", "Parkinson's disease".
    """
    if word.normal not in load_list("eponyms"):
        return False
    gap, after = note.after(word.end)
    if after is not None and gap in _APOSTROPHES and gap and after.normal == "s":
        gap, after = note.after(after.end)
    return (
        after is not None
        and not gap.strip(" -\n" + _APOSTROPHES)
        and after.normal in load_list("eponym_nouns")
    )


def is_described(note: Note, word: Word) -> bool:
    """Return whether the word is introduced as a person: "Hill is a pleasant 45-year".

    In any case but small: notes in capitals begin that way, too.
    """
    if word.text.islower():
        return False
    gap, other = note.after(word.end)
    if other is not None and other.normal in {"is", "was"}:
        gap, other = note.after(other.end)
    elif gap != ", ":
        return False
    if other is None or other.normal not in {"a", "an", "the"}:
        return False
    for _ in range(3):
        gap, other = note.after(other.end)
        if other is None or not is_inside_sentence(gap):
            return False
        if other.text.isdigit() or other.normal in load_list("person_nouns"):
            return True
    return False


def is_capitalised_in_context(note: Note, word: Word) -> bool:
    """Return whether the capital can only mean a name.

    It cannot at the start of a sentence, line or field, in a heading in title case,
    in a line of capitals, nor in an abbreviation ("LOW" for loss of weight).  A
    person's verb behind it makes up for the start of a sentence: "Young denies pain."
    """
    if not word.text[0].isupper() or _is_shouted(note, word):
        return False
    gap, before = note.before(word.start)
    after_gap, after = note.after(word.end)
    if (
        after is not None
        and after_gap == " "
        and after.text in load_list("person_verbs")
    ):
        return True
    if before is None or not gap or not is_inside_sentence(gap):
        return False
    if after is not None and after_gap == " " and is_title_case(after.text):
        return False
    return before.text[0].islower() or (
        before.text[0].isupper() and _starts_sentence(note, before)
    )


def _is_shouted(note: Note, word: Word) -> bool:
    if not word.text.isupper():
        return False
    return len(word.text) <= _ABBREVIATION or not _has_small_word_nearby(note, word)


def _has_small_word_nearby(note: Note, word: Word) -> bool:
    back = ahead = word
    for _ in range(2):
        _, before = note.before(back.start)
        _, after = note.after(ahead.end)
        if any(w is not None and w.text.islower() for w in (before, after)):
            return True
        back, ahead = before or back, after or ahead
    return False


def is_inside_sentence(gap: str) -> bool:
    """Return whether what separates two words leaves them in one sentence."""
    return not gap.strip(_INSIDE_SENTENCE)


def _starts_sentence(note: Note, word: Word) -> bool:
    gap, before = note.before(word.start)
    return before is None or not is_inside_sentence(gap)
