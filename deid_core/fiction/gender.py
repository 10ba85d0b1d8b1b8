"""The gender of given names."""

from __future__ import annotations

from enum import StrEnum


class Gender(StrEnum):
    """The gender of a given name; EITHER for names of both, and for unlisted ones."""

    FEMALE = "female"
    MALE = "male"
    EITHER = "either"
