"""What a detector is, and which there are.

A detector proposes; it never edits and never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..config import DeidConfig
    from ..document import Annotation, Document


class Detector(Protocol):
    """Anything that can propose annotations for documents."""

    @property
    def name(self) -> str:
        """The name in presets and, before the slash, in audit events."""
        ...

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return each document's proposals, in any order; they may overlap.

        A whole batch is given at once, so that a detector can work vectorised.
        """
        ...


# Each factory imports its own detector: a preset loads only what it names.


def _rules(_: DeidConfig) -> Detector:
    from .rules import RuleDetector

    return RuleDetector()


def _known(config: DeidConfig) -> Detector:
    from .known import KnownDetector

    return KnownDetector(config.known)


DETECTORS: Mapping[str, Callable[[DeidConfig], Detector]] = MappingProxyType(
    {"rules": _rules, "known": _known}
)
"""Every detector by its name in presets."""
