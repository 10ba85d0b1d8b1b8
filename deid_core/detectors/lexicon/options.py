"""What a preset may say about the lexicon detector."""

from __future__ import annotations

from deid_core.options import Options


class LexiconOptions(Options):
    """Options of the table ``[lexicon]`` in a preset."""

    bare_names: bool = True
    """Whether its capital inside a sentence makes a given name one, "a call to Anna";
    a trained tagger reads these better."""
