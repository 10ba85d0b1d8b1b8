"""Names of persons that are written as one text: `Dr. Ann B. Roe, MD`, `Roe, Ann`."""

from __future__ import annotations

from collections.abc import Collection

from streams.model.patients.demographics import Name


def name_of_text(
    written: str, use: str, titles: Collection[str], suffixes: Collection[str]
) -> Name:
    """Return a name without titles and suffixes.

    Args:
        written: The text.
        use: Of the name (XPN.7).
        titles: Words that are no part of it, wherever they are.
        suffixes: Words that are none at the end, or behind a comma.
    """
    first, *after = (each.strip() for each in written.split(","))
    others = [each for each in after if each and each not in suffixes]
    words = [each for each in first.split() if each not in titles]
    while len(words) > 1 and words[-1] in suffixes:
        words.pop()
    if others:  # the family name comes first
        given = others[0].split()
        family = " ".join(words)
    else:
        given, family = words[:-1], words[-1] if words else ""
    return Name(
        family=family,
        given=given[0] if given else "",
        middle=" ".join(given[1:]),
        use=use,
    )
