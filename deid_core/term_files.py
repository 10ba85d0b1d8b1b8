"""The files of the user's own lists, as presets and settings name them.

`detectors.terms` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from .labels import Label
from .runtime.options import Options


def _checked(label: Label) -> Label:
    """Refuse labels whose values a policy may leave in the text."""
    # Only lists to remove need the styles, and the settings are read without any.
    from .surrogates import STYLES

    keeping = [style.labels for style in STYLES.values() if style.may_keep]
    kept: frozenset[Label] = reduce(or_, keeping)
    if label in kept:
        possible = ", ".join(each.value for each in Label if each not in kept)
        raise ValueError(
            f"policies may keep values of this label; name one of: {possible}"
        )
    return label


def _known(label: object) -> object:
    """Refuse what is no label; name one that is nearly the same."""
    known = [each.value for each in Label]
    if not isinstance(label, str) or label in known:
        return label
    near = get_close_matches(label, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    told = {"label": label, "hint": hint}
    raise PydanticCustomError("label", "label {label} is unknown; {hint}", told)


Files = Annotated[tuple[str, ...], Field(strict=False)]
RemovedLabel = Annotated[
    Label, Field(strict=False), AfterValidator(_checked), BeforeValidator(_known)
]


class TermFiles(Options):
    """The table ``[terms]`` of a preset or of the settings: names of text files."""

    remove: Mapping[RemovedLabel, Files] = {}
    """By label, files of names and terms that are always removed."""
    keep: Files = ()
    """Files of terms that are not removed where they are nothing else."""

    def __or__(self, other: TermFiles) -> TermFiles:
        """Return the files of both tables."""
        labels = [each for each in Label if each in {*self.remove, *other.remove}]
        both = {
            each: (*self.remove.get(each, ()), *other.remove.get(each, ()))
            for each in labels
        }
        return TermFiles(remove=both, keep=(*self.keep, *other.keep))

    def below(self, folder: Path) -> TermFiles:
        """Return the table with its relative paths below a folder."""

        def moved(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(str(folder / Path(name).expanduser()) for name in names)

        removed = {label: moved(names) for label, names in self.remove.items()}
        return TermFiles(remove=removed, keep=moved(self.keep))


NO_FILES = TermFiles()
