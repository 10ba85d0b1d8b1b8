"""What is written in place of PHI: the styles a policy can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..document import Annotation, Document
from .tag import tag

Style = Callable[[Document, Annotation], str]
"""Returns what to write in place of one annotation of a document."""

STYLES: Mapping[str, Style] = MappingProxyType({"tag": tag})
"""Every style by its name in policies."""
