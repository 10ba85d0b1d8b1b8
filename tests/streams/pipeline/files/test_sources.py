import orjson
import pytest

from streams.engine.errors import FatalError
from streams.pipeline.files import batches, input_file
from streams.pipeline.files.sources import records_in

ONE = b"MSH|^~\\&|A|B|||1||ADT^A01|1|P|2.5\rPID|1||7"
TWO = b"MSH|^~\\&|A|B|||2||ORU^R01|2|P|2.5\rPID|1||8\rOBX|1|TX|||pain 2/10"
EVENT = b'{"note_id": "n1", "patient": {"assigning_authority": "", "id": "7"}}'


def values(path):
    return [record.value for record in records_in([path])]


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [
        ONE + b"\r" + TWO,
        ONE + b"\r\r" + TWO + b"\r",
        ONE + b"\n\n" + TWO + b"\n",
        ONE + b"\r\n" + TWO + b"\r\n",
        b"\xef\xbb\xbf" + ONE + b"\r" + TWO,
        b"\r\n" + ONE + b"\r\n\r\n" + TWO,
        b"\x0b" + ONE + b"\r\x1c\r" + b"\x0b" + TWO + b"\r\x1c\r",
        b"\x0b" + ONE + b"\x1c\r\n" + b"\x0b" + TWO + b"\x1c\r\n",
        b"\x0b" + ONE + b"\r\x1c\x0b" + TWO + b"\r\x1c",
        b"\xef\xbb\xbf\x0b" + ONE + b"\r\x1c\r" + TWO,
        b"FHS|^~\\&|A\rBHS|^~\\&|A\r" + ONE + b"\r" + TWO + b"\rBTS|2\rFTS|1\r",
        b"BHS|^~\\&\r" + ONE + b"\rBTS|1\rBHS|^~\\&\r" + TWO + b"\rBTS",
        b"\x0bFHS|^~\\&\r" + ONE + b"\r" + TWO + b"\rFTS|1\r\x1c\r",
    ],
)
def test_single_messages_come_out_of_any_framing(write, content):
    """
    Line ends, byte order mark, MLLP frames and batch envelopes are not part of it.
    """
    assert values(write("a.hl7", content)) == [ONE, TWO]


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
def test_line_ends_within_a_message_are_kept(write, end):
    """
    The published bytes are those of the file, so that intake sees what was sent.
    """
    message = TWO.replace(b"\r", end)

    assert values(write("a.dat", message + end + message + end)) == [message, message]


def test_bytes_of_any_charset_pass_unchanged(write):
    """
    Undecodable bytes reach intake, which refuses them with a reason.
    """
    message = ONE + b"||H\xf6ner\xff\x80^\x00"

    assert values(write("a.hl7", message)) == [message]


def test_a_vertical_tab_in_a_text_ends_no_message(write):
    """
    Only a start block at the beginning of a line opens a frame.
    """
    message = TWO + b" line one\x0bline two\x1c"

    assert values(write("a.txt", message + b"\r")) == [message]


def test_a_word_that_begins_like_a_header_begins_no_message(write):
    """
    A wrapped line such as "MSH showed" belongs to the note it stands in.
    """
    message = TWO + b"\nMSH showed no growth\nBHS 2 weeks"

    assert values(write("a.txt", message)) == [message]


@pytest.mark.parametrize("name", ["a.hl7", "a.txt", "a.dat"])
def test_text_that_is_no_message_is_a_record_of_its_own(write, name):
    """
    It must end as a dead letter, not vanish on the way.
    """
    content = b"sent by lab\n\n" + ONE + b"\rFTS|1\rtrailing words\n"

    assert values(write(name, content)) == [b"sent by lab", ONE, b"trailing words"]


def test_messages_longer_than_a_chunk_come_whole(write, monkeypatch):
    """
    Files are read in pieces, and no border between two pieces shows.
    """
    content = b"\x0b" + ONE + b"\r\x1c\r\n" + TWO + b"\r\n"
    path = write("a.hl7", content)
    for size in range(1, len(content)):
        monkeypatch.setattr(input_file, "CHUNK_BYTES", size)
        assert values(path) == [ONE, TWO]


def test_json_lines_give_events_and_messages(write):
    """
    An object with a "message" is its HL7 text; every other line goes as it is.
    """
    wrapped = orjson.dumps({"id": "x", "message": "MSH|^~\\&|é\rPID|1"})
    lines = b"\r\n".join([EVENT, b"", wrapped, b'{"message": 3}', b"{broken", b"17"])

    assert values(write("a.jsonl", b"\xef\xbb\xbf" + lines)) == [
        EVENT,
        "MSH|^~\\&|é\rPID|1".encode(),
        b'{"message": 3}',
        b"{broken",
        b"17",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (EVENT, [EVENT]),
        (b'\n{\n "note_id": "n1"\n}\n', [b'{\n "note_id": "n1"\n}']),
        (b'[{"a": 1}, {"message": "MSH|"}, 2]', [b'{"a":1}', b"MSH|", b"2"]),
        (b"[]", []),
        (b"", []),
        (b"[{broken", [b"[{broken"]),
    ],
)
def test_a_json_file_is_an_event_or_a_list(write, content, expected):
    """
    A list gives one record an item; what is not JSON is left for intake to refuse.
    """
    assert expected == values(write("a.json", content))


def test_a_folder_is_read_in_sorted_order_at_any_depth(write, tmp_path):
    """
    The order of records does not depend on the file system.
    """
    for name in ["b/2.hl7", "b/1.hl7", "a/z/9.HL7", "c.hl7"]:
        write(name, b"MSH|" + name.encode())

    assert [(record.origin, record.ordinal) for record in records_in([tmp_path])] == [
        (tmp_path / "c.hl7", 0),
        (tmp_path / "a/z/9.HL7", 0),
        (tmp_path / "b/1.hl7", 0),
        (tmp_path / "b/2.hl7", 0),
    ]


def test_ordinals_count_within_a_file(write):
    """
    A report can name the record by file and place.
    """
    paths = [write("a.hl7", ONE + b"\r" + TWO), write("b.hl7", ONE)]

    assert [record.ordinal for record in records_in(paths)] == [0, 1, 0]


def test_an_unknown_suffix_is_skipped_and_reported(write, tmp_path):
    """
    A README beside the messages is not fed, and the caller can say so.
    """
    write("a.hl7", ONE)
    readme = write("README.md", b"MSH|")
    skipped = []

    found = list(records_in([tmp_path], skipped=skipped.append))

    assert [record.value for record in found] == [ONE]
    assert skipped == [readme]


def test_an_absent_path_is_refused_before_anything_is_read(write, tmp_path):
    """
    A misspelt argument must not leave half of the files fed.
    """
    absent = tmp_path / "absent.hl7"

    with pytest.raises(
        FatalError, match=r"absent\.hl7: no such file .* check the path"
    ):
        records_in([write("a.hl7", ONE), absent])


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    """
    The message names the path and the next step.
    """
    (tmp_path / "link.hl7").symlink_to(tmp_path / "nowhere.hl7")

    with pytest.raises(FatalError, match=r"link\.hl7: .*; check that it may be read"):
        list(records_in([tmp_path]))


@pytest.mark.parametrize("name", ["a.hl7", "a.jsonl", "a.json"])
@pytest.mark.parametrize("end", [b"", b"\r"])
def test_a_record_beyond_the_limit_is_refused(write, monkeypatch, name, end):
    """
    A file that is no message file cannot fill the memory.
    """
    for module in (batches, input_file):
        monkeypatch.setattr(module, "MAX_RECORD_BYTES", 100)
    path = write(name, b"MSH|" + (b"x" * 49 + (end if name == "a.hl7" else b"")) * 3)

    with pytest.raises(FatalError, match="split the file"):
        values(path)


def test_many_frames_on_one_line_take_linear_time(write):
    """
    Frames without any line end between them neither recurse nor copy the rest.
    """
    path = write("a.hl7", (b"\x0bMSH|\x1c") * 200_000)

    assert sum(1 for _ in records_in([path])) == 200_000


def test_a_record_in_a_log_line_shows_no_bytes(write):
    """
    The value of a record is hidden from its repr.
    """
    (record,) = records_in([write("a.hl7", ONE)])

    assert "PID" not in repr(record)
