"""E-mail addresses of the record, and their user names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deid_core.labels import Label
from deid_core.language.fragments import same_length_lower
from deid_core.language.lexicons import is_vocabulary

# A combining accent belongs to its letter.
_INSIDE_EMAIL = re.compile(r"[\w.+%\u0300-\u036f-]")
_SHORTEST_USER = 5


def email_forms(value: str) -> dict[str, Label]:
    """Return what to find of an address in a note in lower case, and its label.

    A user name that is one word is none: "info", or a name, which is found as such.
    """
    email = value.strip().lower()
    if "@" not in email.strip("@ "):
        return {}
    user = email.partition("@")[0]
    if len(user) < _SHORTEST_USER or (user.isalpha() and is_vocabulary(user)):
        return {email: Label.EMAIL}
    return {email: Label.EMAIL, user: Label.USERNAME}


def find_emails(
    text: str, wanted: dict[str, Label]
) -> Iterator[tuple[int, int, Label]]:
    """Yield the half-open range and label of each address and user name."""
    if not wanted:
        return
    lowered = same_length_lower(text)
    for value, label in wanted.items():
        start = lowered.find(value)
        while start >= 0:
            end = start + len(value)
            if _is_whole(lowered, start, end, label):
                yield start, end, label
            start = lowered.find(value, end)


def _is_whole(text: str, start: int, end: int, label: Label) -> bool:
    before = text[start - 1] if start else " "
    behind = text[end : end + 1]
    if _INSIDE_EMAIL.match(before) or behind.isalnum():
        return False
    return label is Label.EMAIL or behind not in {"@", "_", "-", "+"}
