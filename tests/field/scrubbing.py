"""Scrub a file in a test as `phistream scrub --out` does."""

from __future__ import annotations

from functools import cache

from deid_core import Deidentifier
from streams.cli.scrub_output import inputs_of
from streams.engine.errors import InvalidRecord
from streams.files.rewriting import Rewriter, Tally
from streams.scrub.outputs import Pseudonyms

KEY = bytes(range(32))


@cache
def deidentifier(policy):
    """Return the system of the default preset and of a policy."""
    return Deidentifier.from_names(policy=policy, key=KEY)


def scrubbed(path, policy="safe-harbor"):
    """Return what is written of a file, and why any of it is refused."""
    [source] = inputs_of([path], None, None)
    rewriter = Rewriter(deidentifier(policy), Pseudonyms(KEY))
    with path.open("rb") as stream:
        pieces = [
            *rewriter.rewritten(path, stream, source.kind, Tally(), is_explicit=False)
        ]
    refusals = [piece for piece in pieces if isinstance(piece, InvalidRecord)]
    return b"" if refusals else b"".join(pieces), refusals
