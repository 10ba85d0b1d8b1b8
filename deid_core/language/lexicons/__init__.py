"""Words and what is known about them: loading, normalising, weighing.

Lists come from packages where a package has them: build.py makes tables of them.  Those
that are ours are text files in this folder, one entry a line.  SOURCES.toml declares
the origin of all.
"""

from .lists import load_list, load_pairs, load_rows
from .normal import forms_of, normal, words_of
from .vocabulary import (
    is_common_name,
    is_frequent,
    is_ordinary,
    is_vocabulary,
    name_score,
)

__all__ = [
    "forms_of",
    "is_common_name",
    "is_frequent",
    "is_ordinary",
    "is_vocabulary",
    "load_list",
    "load_pairs",
    "load_rows",
    "name_score",
    "normal",
    "words_of",
]
