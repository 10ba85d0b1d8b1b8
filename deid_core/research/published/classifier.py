"""The published systems' models of words as a detector."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from deid_core.document import Annotation, Document, Span
from deid_core.errors import ConfigError
from deid_core.options import Options
from deid_core.toml_files import refuse_unknown

if TYPE_CHECKING:
    from deid_core.tagger.compiled import Tagged


class ClassifierOptions(Options):
    """Options of the table ``[classifier]`` in a preset."""

    recipe: str
    """What the model must have been trained by."""
    model: str = ""
    """The path of its folder; `phistream train` writes it."""
    threshold: float = Field(default=0.0, ge=0.0, le=1.0)
    """What the model is less sure of is not proposed."""
    outside_bias: float = Field(default=0.0, ge=-10.0, le=10.0)
    """Taken off the score of "no identifier" at each word: more recall, less precision
    (Minkov and others 2006).  MIST writes it with the other sign: its -1 is 1 here."""
    outside_below: float | None = Field(default=None, ge=0.0, le=1.0)
    """A word that is no identifier with no higher probability is proposed as what it
    most probably is (Deleger and others 2013, MCRF, .85 to .99)."""
    post_rules: tuple[str, ...] = Field(default=(), strict=False)
    """What adds to the model's proposals, in this order."""

    @property
    def untrained(self) -> str:
        """The recipe, as long as no model of it is named."""
        return "" if self.model else self.recipe


class ClassifierDetector:
    """Propose what a published system's model finds.

    An annotation bears the system's own class as its tag.

    Args:
        options: Which model, and what stands around it.

    Raises:
        ConfigError: There is no model, it is damaged, or another recipe's; or a rule
            is unknown.
    """

    name = "classifier"

    def __init__(self, options: ClassifierOptions) -> None:
        from deid_core.tagger.compiled import Bias

        from .model_files import load_model
        from .post_rules import POST_RULES

        refuse_unknown(options.post_rules, tuple(POST_RULES), "classifier: post rule")
        if not options.model:
            raise ConfigError(
                f"classifier: no model; run phistream train --recipe {options.recipe} "
                f"--corpus PATH --out FOLDER, then use the preset FOLDER/preset.toml"
            )
        self._model = load_model(Path(options.model))
        if self._model.name != options.recipe:
            raise ConfigError(
                f"classifier: the model is of recipe {self._model.name!r}, not "
                f"{options.recipe!r}; name another model"
            )
        self._bias = Bias(options.outside_bias, options.outside_below)
        self._options = options

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the proposals for each document, left to right, disjoint."""
        return [list(map(self._annotation, self._tagged(each))) for each in documents]

    def _tagged(self, document: Document) -> list[Tagged]:
        from .post_rules import with_rules

        options = self._options
        tagged = [
            each
            for each in self._model.tag(document.text, self._bias)
            if each.score >= options.threshold
        ]
        return with_rules(document.text, tagged, self._model, options.post_rules)

    def _annotation(self, found: Tagged) -> Annotation:
        label = self._model.classes.label_of(found.tag)
        rule = re.sub(r"[^a-z0-9_-]", "_", found.tag.lower())
        return Annotation(
            Span(found.start, found.end),
            label,
            min(1.0, max(0.0, found.score)),
            "classifier",
            rule,
            tag="" if found.tag == label.value else found.tag,
        )
