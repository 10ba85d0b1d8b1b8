"""The four steps as one detector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deid_core.document import Annotation, Document
from deid_core.research.published.options import NusOptions

from .dates import dates
from .lists import listed, record_lists, site_lists
from .maximum_entropy import by_maximum_entropy, load_model
from .names import by_edit_distance, name_tokens, titled, words_in
from .numbers import id_pattern, numbers


class NusDetector:
    """Propose what the published system replaces.  Thread-safe.

    Raises:
        ConfigError: A list or a country is unknown, or the shape of an id has no digit.
    """

    name = "nus"
    reads_as_written = False

    def __init__(self, options: NusOptions | None = None) -> None:
        self._options = options or NusOptions()
        self._ids = id_pattern(self._options.id_shapes)
        self._lists = site_lists(self._options)
        is_classified = self._options.names == "maximum_entropy"
        self._model = load_model() if is_classified else None

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the proposals for each document; they may overlap."""
        return [list(self._propose(document)) for document in documents]

    def _propose(self, document: Document) -> Iterator[Annotation]:
        text, known = document.text, document.known
        yield from self._names(document)
        yield from numbers(text, self._ids)
        yield from dates(text)
        yield from listed(text, (self._lists, record_lists(known)))

    def _names(self, document: Document) -> Iterator[Annotation]:
        words = titled(document.text, words_in(document.text))
        tokens = name_tokens(document.known)
        if self._model is None:
            return by_edit_distance(words, tokens, self._options.threshold)
        return by_maximum_entropy(document.text, words, tokens, self._model)
