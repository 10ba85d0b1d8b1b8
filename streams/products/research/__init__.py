"""Commands that train, adapt and score; they need the extra `train`."""

from __future__ import annotations

from streams.products import Command, Product

PRODUCT = Product(
    commands={
        "evaluate": Command(
            "products.research.evaluate:evaluate",
            "Score a preset on gold corpora: coverage, spans and tokens, for each "
            "label.",
            ("train",),
        ),
        "train": Command(
            "products.research.train:train",
            "Train the tagger; a preset names the folder as `model` in its table "
            "\\[tagger].",
            ("train",),
        ),
        "adapt": Command(
            "products.research.adapt:adapt",
            "Adapt the tagger to a site's notes, without annotators; exit 1 if it is "
            "worse.",
            ("train",),
        ),
        "experiment": Command(
            "products.research.experiment:experiment",
            "Train and compare systems; write a page of tables, plots and findings.",
            ("train",),
        ),
        "corpus": Command(
            "products.research.corpus:app",
            "Write synthetic notes with invented identifiers as JSON lines.",
            ("train",),
        ),
    },
)
