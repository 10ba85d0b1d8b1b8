"""Questions about the words around a word of the patient's record: is it a name here?

`language.context` asks such questions about any capitalised run, by its characters;
these are about words of a `Note`, which come with their neighbours and normal forms,
in any letter case, and are known to be in the record: less evidence is enough.  The
word lists are the same.  Every question looks at most three words away.
"""

from __future__ import annotations

from deid_core.language.lexicons import load_list

from .note import Note, Word

APOSTROPHES = "'\u2019`\u00b4"
_INSIDE_SENTENCE = " ,(\"'/-"
_MODALS = frozenset({"will", "may"})
_ABBREVIATION = 4


def is_title_case(text: str) -> bool:
    """Return whether a word is in title case: "McKay", but not "LOW"."""
    return text[0].isupper() and (len(text) == 1 or not text.isupper())


def has_honorific(note: Note, word: Word) -> bool:
    """Return whether a title precedes the word: "Mr. Low", "dr young".

    Not so for "the dr will call": a modal verb in lower case is a verb.
    """
    if word.normal in _MODALS and word.text.islower() and not note.is_caseless:
        return False
    if not word.at or note.form(word.at - 1) not in load_list("honorifics"):
        return False
    gap = note.gap(word.at)
    # Without letter case, "dr will call" needs its period to be a name.
    if word.normal in _MODALS and note.is_caseless and "." not in gap:
        return False
    return is_title_gap(gap)


def has_doctor_title(note: Note, word: Word) -> bool:
    """Return whether the title before a word is a provider's."""
    return (
        word.at > 0
        and note.form(word.at - 1) in load_list("doctor_titles")
        and is_title_gap(note.gap(word.at))
    )


def is_title_gap(gap: str) -> bool:
    """Return whether a gap can separate a title from a name."""
    return len(gap) <= 3 and not gap.strip(" .")


def has_credential(note: Note, word: Word) -> bool:
    """Return whether a provider's degree follows the word: "Young, MD"."""
    gap, after = note.after(word.at)
    return (
        after is not None
        and gap.strip(" ") == ","
        and after.normal in load_list("credentials")
    )


def has_cue(note: Note, word: Word) -> bool:
    """Return whether the word fills a field of a name: "Patient: LOW"."""
    gap, before = note.before(word.at)
    return (
        before is not None
        and ":" in gap
        and not gap.strip(" :\t")
        and (note.is_caseless or not word.text.islower())
        and before.normal in load_list("name_cues")
    )


def has_relation(note: Note, word: Word) -> bool:
    """Return whether the word names a relative: "her son Will", "wife Rose Hill".

    In lower case, and in notes without case, it may be a verb: "her son will call".
    """
    if not is_title_case(word.text) or not word.at:
        return False
    return note.gap(word.at) in {" ", ", "} and (
        note.form(word.at - 1) in load_list("kin")
    )


def is_possessor(note: Note, word: Word) -> bool:
    """Return whether something belongs to the word: "Rose's son"."""
    gap, after = note.after(word.at)
    return (
        after is not None
        and len(gap) == 1
        and gap in APOSTROPHES
        and after.normal == "s"
        and (note.is_caseless or is_title_case(word.text))
    )


def is_eponym(note: Note, word: Word) -> bool:
    """Return whether the word names a disease, sign, device or procedure here.

    That is so for a surname of the eponym list, with or without possessive, right
    before one of the eponym nouns: "Foley catheter", "Parkinson's disease".
    """
    if word.normal not in load_list("eponyms"):
        return False
    gap, after = note.after(word.at)
    if after is not None and gap in APOSTROPHES and gap and after.normal == "s":
        gap, after = note.after(after.at)
    return (
        after is not None
        and not gap.strip(" -\n" + APOSTROPHES)
        and after.normal in load_list("eponym_nouns")
    )


def is_described(note: Note, word: Word) -> bool:
    """Return whether the word is introduced as a person: "Hill is a pleasant 45-year".

    Not in lower case, unless all of the note is.
    """
    if word.text.islower() and not note.is_caseless:
        return False
    gap, other = note.after(word.at)
    if other is not None and other.normal in {"is", "was"}:
        gap, other = note.after(other.at)
    elif gap != ", ":
        return False
    if other is None or other.normal not in {"a", "an", "the"}:
        return False
    for _ in range(3):
        gap, other = note.after(other.at)
        if other is None or not is_one_sentence(gap):
            return False
        if other.text.isdigit() or other.normal in load_list("person_nouns"):
            return True
    return False


def is_capitalised_in_context(note: Note, word: Word) -> bool:
    """Return whether the capital can only mean a name.

    It cannot at the start of a sentence, line or field, in a heading in title case,
    in a line of capitals, nor in an abbreviation ("LOW" for loss of weight).  A
    person's verb after it makes up for the start of a sentence, "Young denies pain",
    and for a note in one letter case.
    """
    if note.is_caseless:
        return has_person_verb(note, word)
    if not word.text[0].isupper() or _is_in_capitals(note, word):
        return False
    if has_person_verb(note, word):
        return True
    gap, before = note.before(word.at)
    if before is None or not gap or not is_one_sentence(gap):
        return False
    after_gap, after = note.after(word.at)
    if after is not None and after_gap == " " and is_title_case(after.text):
        return False
    return before.text[0].islower() or (
        before.text[0].isupper() and starts_sentence(note, before)
    )


def has_person_verb(note: Note, word: Word) -> bool:
    """Return whether a verb follows that only persons are the subject of."""
    gap, after = note.after(word.at)
    if after is None or gap != " ":
        return False
    form = after.normal if note.is_caseless else after.text
    return form in load_list("person_verbs") or form == "would"


def _is_in_capitals(note: Note, word: Word) -> bool:
    if not word.text.isupper():
        return False
    return len(word.text) <= _ABBREVIATION or not _has_small_word_nearby(note, word)


def _has_small_word_nearby(note: Note, word: Word) -> bool:
    back = ahead = word
    for _ in range(2):
        _, before = note.before(back.at)
        _, after = note.after(ahead.at)
        if any(w is not None and w.text.islower() for w in (before, after)):
            return True
        back, ahead = before or back, after or ahead
    return False


def is_one_sentence(gap: str) -> bool:
    """Return whether what separates two words leaves them in one sentence."""
    return not gap.strip(_INSIDE_SENTENCE)


def starts_sentence(note: Note, word: Word) -> bool:
    """Return whether no word of the same sentence precedes."""
    gap, before = note.before(word.at)
    return before is None or not is_one_sentence(gap)
