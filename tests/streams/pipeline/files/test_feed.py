"""The keys under which `phistream feed` publishes."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.pipeline.files.feed import raw_messages
from streams.pipeline.files.sources import SourceRecord

MESSAGE = b"MSH|^~\\&|LAB|NORTH|C|D|20250101||ORU^R01|M7|P|2.5\rPID|1"
NOTE = (
    b'{"note_id": "1", "text": "x", "patient": {"assigning_authority": "N", "id": "1"}}'
)


@pytest.mark.parametrize(
    ("value", "by_file", "by_sender"),
    [
        (MESSAGE, b"a.hl7", b"LAB|NORTH"),
        (NOTE, b"a.hl7", b"a.hl7"),
        (b"no message", b"a.hl7", b"a.hl7"),
    ],
)
def test_the_key_is_the_file_or_the_sender(value, by_file, by_sender):
    def key(**how):
        records = [SourceRecord(Path("a.hl7"), 0, value)]
        [message] = raw_messages(records, pytest.fail, **how)
        assert value == message.value
        return message.key

    assert (by_file, by_sender) == (key(), key(by_sender=True))
