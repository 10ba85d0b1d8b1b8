"""Scrub a file in a test as `phistream scrub --out` does."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from deid_core import Deidentifier
from streams.cli.scrub_output import inputs_of
from streams.engine.errors import InvalidRecord
from streams.formats.json_map import load_json_map
from streams.pipeline.files.rewriting import Rewriter, Tally
from streams.pipeline.publish import Pseudonyms

KEY = bytes(range(32))


@cache
def deidentifier(policy):
    """Return the system of the default preset and of a policy."""
    return Deidentifier.from_names(policy=policy, key=KEY)


def scrubbed(path, policy="safe-harbor", *, json_map=None, charset="utf-8"):
    """Return what is written of a file, and why any of it is refused."""
    loaded = load_json_map(Path(json_map)) if json_map else None
    # With a map any JSON and tables are read, of which a map tells the form.
    [source] = inputs_of([path], None, path.parent / "out", any_json=loaded is not None)
    system = deidentifier(policy)
    rewriter = Rewriter(system, Pseudonyms(KEY), loaded, charset=charset)
    with path.open("rb") as stream:
        pieces = [
            *rewriter.rewritten(path, stream, source.kind, Tally(), is_explicit=False)
        ]
    refusals = [piece for piece in pieces if isinstance(piece, InvalidRecord)]
    return b"" if refusals else b"".join(pieces), refusals
