"""Documents without a structured body."""

from __future__ import annotations

import re

from tests.streams.formats.ccda.scrubbing import sample
from tests.streams.formats.documents.written import pdf, shown

LETTER = "Mrs. Winifred Quellwright was seen by Dr. Vandermeer on 03/12/2024."
RTF = rb"{\rtf1\ansi " + LETTER.encode() + rb"\par MRN MRN4471836}"
PDF = pdf(shown(LETTER))
HTML = f"<html><body><p title='Quellwright'>{LETTER}</p></body></html>"

_BODY = re.compile(rb"<structuredBody>.*</structuredBody>", re.DOTALL)


def unstructured(media_type: str, text: str, representation: str = "B64") -> bytes:
    """Return the sample with another body."""
    body = (
        f'<nonXMLBody><text mediaType="{media_type}" '
        f'representation="{representation}">{text}</text></nonXMLBody>'
    )
    return _BODY.sub(lambda _: body.encode(), sample("ccd"))
