"""What the fork server of `tests.commands` does before the first command comes."""

from deid_core import Deidentifier

Deidentifier.from_names()
