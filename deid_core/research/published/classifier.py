"""The trained published systems as a detector."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from deid_core.document import Annotation, Document, Span
from deid_core.errors import ConfigError
from deid_core.runtime.toml_files import refuse_unknown
from deid_core.tagger.compiled import Bias, Tagged

from .first_use import model_of
from .model import load_model
from .options import ClassifierOptions
from .post_rules import POST_RULES, with_rules


class ClassifierDetector:
    """Propose what a trained published system finds.

    The tag of an annotation is the system's own class.

    Raises:
        ConfigError: The model is damaged or another recipe's, or can't be trained
            without the extra "train"; or a rule is unknown.
    """

    name = "classifier"
    reads_as_written = False

    def __init__(self, options: ClassifierOptions) -> None:
        refuse_unknown(options.post_rules, tuple(POST_RULES), "classifier: post rule")
        if options.model:
            self._model = load_model(Path(options.model))
        else:
            self._model = model_of(options)
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
        tagged = [
            each
            for each in self._model.tag(document.text, self._bias)
            if each.score >= self._options.threshold
        ]
        rules = self._options.post_rules
        return with_rules(document.text, tagged, self._model, rules)

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
