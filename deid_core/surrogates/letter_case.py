"""Write a text in the letter case of another."""

from __future__ import annotations


def in_case_of(like: str, word: str) -> str:
    """Return the word in the case of another: UPPER, lower or Title."""
    if like.islower():
        return word.lower()
    if like.isupper() and sum(map(str.isalpha, like)) > 1:
        return word.upper()
    return word[:1].upper() + word[1:]


def in_single_case_of(like: str, text: str) -> str:
    """Return the text in the case of another that is all UPPER or lower, else as is."""
    return in_case_of(like, text) if like.isupper() or like.islower() else text


def capitalised_like(like: str, text: str) -> str:
    """Return a text in the case of another: UPPER, lower or Title."""
    if like.islower():
        return text
    return text.upper() if like.isupper() else text.capitalize()
