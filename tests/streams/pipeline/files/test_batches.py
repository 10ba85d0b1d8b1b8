"""Every way in which messages are packed in a file or a record gives the same ones."""

from __future__ import annotations

import codecs
from itertools import cycle, product

import orjson
import pytest

from streams.engine.errors import InvalidRecord
from streams.formats.hl7.framing import messages_of
from streams.pipeline.files.sources import records_in

ONE = ("MSH|^~\\&|A|B|||1||ADT^A01|1|P|2.5", "PID|1||7||Zoë")
TWO = ("MSH|^~\\&|A|B|||2||ORU^R01|2|P|2.5", "PID|1||8", "OBX|1|TX|||pain 2/10")
FHS, BHS = "FHS|^~\\&|A", "BHS|^~\\&|A"

ENDS = {
    "CR": ("\r",),
    "LF": ("\n",),
    "CRLF": ("\r\n",),
    "mixed": ("\r", "\n", "\r\n", "\n"),
}
FRAMES = {
    "none": ("", ""),
    "MLLP": ("\x0b", "\x1c\r"),
    "MLLP with CRLF": ("\x0b", "\x1c\r\n"),
    "MLLP without line ends": ("\x0b", "\x1c"),
    "MLLP after blank lines": ("\r\n\x0b", "\x1c\r\n\r\n"),
}
ENVELOPES = {
    "none": ((), (), ()),
    "batch": ((BHS,), (), ("BTS|2",)),
    "file": ((FHS, BHS), (), ("BTS|2", "FTS|1")),
    "two batches": ((FHS, BHS), ("BTS|1", BHS), ("BTS|1", "FTS|2")),
    "without trailers": ((FHS, BHS), (), ()),
}
MARKS = {
    "none": ("", "", "utf-8"),
    "UTF-8": ("\ufeff", "", "utf-8"),
    "UTF-8 before each message": ("\ufeff", "\ufeff", "utf-8"),
    "UTF-16": ("\ufeff", "", "utf-16-le"),
    "UTF-16, big-endian": ("\ufeff", "", "utf-16-be"),
}
PLACES = ("each message", "all", "the envelope too")


def packed(ends, frame, envelope, mark, place, *, is_ended):
    """Return a file of two messages."""
    end = cycle(ENDS[ends])
    begin, finish = FRAMES[frame]
    head, middle, tail = ENVELOPES[envelope]
    first_mark, each_mark, codec = MARKS[mark]

    def lines(*segments):
        return "".join(segment + next(end) for segment in segments)

    def framed(text):
        if frame == "MLLP without line ends":
            text = text.rstrip("\r\n")
        return begin + text + finish if text else ""

    messages = [each_mark + lines(*ONE), each_mark + lines(*TWO)]
    if place == "all":
        text = framed(
            lines(*head) + messages[0] + lines(*middle) + messages[1] + lines(*tail)
        )
    else:
        around = framed if place == "the envelope too" else str
        text = "".join(
            (
                around(lines(*head)),
                framed(messages[0]),
                around(lines(*middle)),
                framed(messages[1]),
                around(lines(*tail)),
            )
        )
    if not is_ended:
        text = text.rstrip("\r\n")
    return (first_mark + text).encode(codec)


ALL = [
    dict(
        zip(
            ("ends", "frame", "envelope", "mark", "place", "is_ended"),
            each,
            strict=True,
        )
    )
    for each in product(ENDS, FRAMES, ENVELOPES, MARKS, PLACES, (True, False))
]
EXPECTED = ["\r".join(ONE), "\r".join(TWO)]


def test_a_file_gives_its_messages_however_they_are_packed(tmp_path):
    file = tmp_path / "a.hl7"
    wrong = []
    for each in ALL:
        file.write_bytes(packed(**each))
        found = [messages_of(record.value) for record in records_in([file])]
        if found != [[message] for message in EXPECTED]:
            wrong.append(each)

    assert wrong == []
    assert len(ALL) == 3000


def test_a_record_gives_its_messages_however_they_are_packed():
    """As from a listener, or a producer that sends whole files."""
    wrong = [each for each in ALL if messages_of(packed(**each)) != EXPECTED]

    assert wrong == []


def test_a_mark_counts_more_than_the_character_set_of_the_header(tmp_path):
    """As for a message alone: an editor has saved the file as UTF-8, or as UTF-16."""
    header = "MSH|^~\\&|A|B|||1||ADT^A01|1|P|2.5||||||8859/1"
    text = f"{header}\rPID|1||7||Zoë"
    file = tmp_path / "a.hl7"
    for mark, codec in (("\ufeff", "utf-8"), ("\ufeff", "utf-16-le"), ("", "latin-1")):
        file.write_bytes((mark + text).encode(codec))

        [record] = records_in([file])

        assert messages_of(record.value) == [text]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_json_is_read_whatever_its_mark_and_line_ends(tmp_path, name, codec, end):
    lines = ['{"note_id": "Zoë"}', "", '{"note_id": "2"}']
    text = end.join(lines) if name == "a.jsonl" else f"[{lines[0]},{end}{lines[2]}]"
    file = tmp_path / name
    file.write_bytes(text.encode(codec))

    values = [orjson.loads(record.value) for record in records_in([file])]

    assert values == [{"note_id": "Zoë"}, {"note_id": "2"}]


def test_utf_16_that_is_none_is_refused_with_the_file(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_bytes(codecs.BOM_UTF16_LE + b"\x00\xd8" * 2)

    with pytest.raises(InvalidRecord, match=r"a\.jsonl: not UTF-16"):
        list(records_in([file]))
