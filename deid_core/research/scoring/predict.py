"""What a system would replace in each document of a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from deid_core.document import Document
from deid_core.errors import DeidError
from deid_core.pipeline import Deidentifier

from ..corpora.corpus import GoldDocument, Prediction

BATCH = 64


def predict(
    system: Deidentifier, documents: Sequence[GoldDocument]
) -> Iterator[Prediction]:
    """Yield what the system says of each document, in order.

    What is detected counts, whatever the system's policy writes there.
    """
    pending = (Document(each.id, each.text, each.known) for each in documents)
    while batch := list(islice(pending, BATCH)):
        for result in system.deidentify_batch(batch):
            if isinstance(result, DeidError):
                yield Prediction((), refusal=str(result))
            else:
                yield Prediction(result.annotations)
