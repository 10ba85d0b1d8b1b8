"""E-mail addresses of the record, and their user names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from deid_core.labels import Label
from deid_core.language.fragments import same_length_lower
from deid_core.language.lexicons import is_vocabulary

# A combining accent belongs to its letter.
_INSIDE_EMAIL = re.compile(r"[\w.+%\u0300-\u036f-]")
_SHORTEST_USER = 5


def emails_of(values: Iterable[str]) -> dict[str, Label]:
    """Return the values to find in a note in lower case, and the label of each.

    A user name that is one word is none: "info", or a name, which is found as such.
    """
    wanted: dict[str, Label] = {}
    for value in values:
        email = value.strip().lower()
        if "@" not in email.strip("@ "):
            continue
        wanted[email] = Label.EMAIL
        user = email.partition("@")[0]
        if len(user) >= _SHORTEST_USER and not (user.isalpha() and is_vocabulary(user)):
            wanted.setdefault(user, Label.USERNAME)
    return wanted


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
