"""Fields and texts of a rebuilt message agree; what was not replaced is as it was."""

import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import OffsetMap, ScrubbedDocument
from deid_core.document import Row
from streams.demo.ward import Ward
from streams.engine.errors import InvalidRecord
from streams.formats.hl7.framing import messages_of
from streams.formats.hl7.message import delimiters_of, unescape
from streams.formats.hl7.rebuilding import rows_of
from streams.formats.readers import HL7
from tests.sampling import examples
from tests.streams.formats.hl7.rebuilding import Same, deidentified, fields, kept

MESSAGE = "\r".join(
    (
        "MSH|^~\\&|APP|HOSP|||20240301093000||ORU^R01|C1|P|2.5.1",
        "PID|1||771188234^^^WARD^MR||Quellwright^Mabelle||19580417|F|||41 Larkspur Lane"
        "^^Ebensburg^PA^15931||(814)555-0147",
        "NK1|1|Quellwright^Zebedee|SPO",
        "PV1|1|I|||||66019^Cadwallader^Ignatius",
        "OBR|1||F1|11506-3^Note^LN|||20240227",
        "OBX|1|TX|1^History||Mabelle Quellwright (MRN 771188234) came on 2/27/2024 with"
        " Zebedee Quellwright.~Dr. Cadwallader saw her; she lives in Ebensburg."
        "~Call (814) 555-0147.||||||F|||20240228",
        "OBX|2|DT|2^Seen||20240227",
        "OBX|3|XPN|3^Name||Quellwright^Mabelle",
    )
)


@pytest.fixture(scope="module")
def found():
    [(rebuilt, _)] = deidentified(MESSAGE.encode())
    return rebuilt


@pytest.fixture(scope="module")
def text(found):
    [note] = HL7.parts(found.value)[0].notes
    return note.text


def test_the_names_of_the_fields_are_those_of_the_text(found, text):
    family, given_ = fields(found, "PID")[5].split("^")
    kin = fields(found, "NK1")[2].split("^")
    doctor = fields(found, "PV1")[7].split("^")

    assert f"{given_} {family} (MRN " in text
    assert f"{kin[1]} {family}." in text
    assert kin[0] == family
    assert f"Dr. {doctor[1]} saw" in text
    assert fields(found, "OBX")[5] == (f"{family}^{given_}")
    assert {family, given_}.isdisjoint({"Quellwright", "Mabelle"})


def test_identifiers_places_and_numbers_are_those_of_the_text(found, text):
    pid = fields(found, "PID")

    assert f"(MRN {pid[3].split('^')[0]})" in text
    assert f"lives in {pid[11].split('^')[2]}." in text
    assert digits(pid[13])[-7:] in digits(text)


def test_all_dates_move_by_the_same_number_of_days(found, text):
    month, day, year = re.search(r"(\d+)/(\d+)/(\d{4})", text).groups()
    days = (date(int(year), int(month), int(day)) - date(2024, 2, 27)).days

    assert days
    assert days == moved(fields(found, "MSH")[7], 2024, 3, 1)
    assert days == moved(fields(found, "PID")[7], 1958, 4, 17)
    assert days == moved(fields(found, "OBR")[7], 2024, 2, 27)
    dates = [each.split("|") for each in found.value.decode().split("\r")]
    first, second = (
        each for each in dates if each[0] == "OBX" and each[2] in ("TX", "DT")
    )
    assert days == moved(first[14], 2024, 2, 28)
    assert days == moved(second[5], 2024, 2, 27)


def test_years_of_birth_that_show_an_old_age_are_not_shown():
    value = MESSAGE.replace("19580417", "19210417").encode()

    [(found, _)] = deidentified(value, "safe-harbor")

    assert fields(found, "PID")[7] == ""


def test_every_note_of_a_generated_ward_is_the_text_of_its_part():
    """And the scrubbed one is what the rebuilt message reads as."""
    seen = 0
    for message in Ward(seed=3).messages(60):
        try:
            parts = HL7.parts(message.value)
        except InvalidRecord:
            continue
        for part in parts:
            texts = HL7.read(part.content).texts
            count = len(part.notes)
            assert [each.text for each in part.notes] == [
                each.text for each in texts[:count]
            ]
            seen += count
    assert seen > 20


PLACES = (("PID", 5, 0), ("PID", 5, 1), ("PID", 3, 0), ("PV1", 7, 1), ("NK1", 2, 0))


def test_values_of_a_generated_ward_are_the_same_in_fields_and_notes():
    compared = 0
    for message in Ward(seed=5).messages(120):
        try:
            parts = HL7.parts(message.value or b"")
        except InvalidRecord:
            continue
        for part, (done, scrubbed) in zip(
            parts, deidentified(message.value), strict=True
        ):
            [again] = messages_of(done.value)
            for place in PLACES:
                before, after = (
                    component(part.content, *place),
                    component(again, *place),
                )
                for note, text in zip(part.notes, scrubbed, strict=False):
                    if len(before) > 2 and occurs(before, note.text):
                        assert after in text.text
                        assert not occurs(before, again)
                        compared += 1
    assert compared > 100


def component(content, name, number, at):
    """Return a component of the first segment of that name."""
    marks = delimiters_of(content)
    for row in rows_of(content, marks):
        if row.name == name and len(row.fields) > number:
            first = row.fields[number].split(marks.repetition)[0]
            parts = first.split(marks.component)
            return unescape(parts[at], marks).strip() if at < len(parts) else ""
    return ""


def occurs(value, text):
    return re.search(rf"\b{re.escape(value)}\b", text) is not None


# Texts, split again


ATOMS = st.one_of(
    st.text("abcxyz 0.,-é", min_size=1, max_size=6),
    st.sampled_from(["br", "sp2", "in+2"]).map(r"\.{}\ ".strip().format),
    st.sampled_from(["T", "F", "S", "R", "E", "H", "N", "X4142", "Zown"]).map(
        lambda code: f"\\{code}\\"
    ),
    st.sampled_from("^&"),
    st.sampled_from(["\\", "\n"]),
)
RAW = st.lists(ATOMS, min_size=1, max_size=8).map("".join)
SEGMENTS = st.lists(
    st.tuples(st.sampled_from(["OBX", "NTE"]), st.lists(RAW, min_size=1, max_size=3)),
    min_size=1,
    max_size=4,
)


def message_of(segments):
    rows = ["MSH|^~\\&|||||||ORU^R01|C1|P|2.5.1", "PID|||4711"]
    for name, repetitions in segments:
        raw = "~".join(repetitions)
        rows.append(f"OBX|1|FT|||{raw}" if name == "OBX" else f"NTE|1||{raw}")
    return "\r".join(rows)


def part_of(segments):
    """Return the part of a message of these segments, or None if it is refused."""
    try:
        parts = HL7.parts(message_of(segments).encode())
    except InvalidRecord:
        return None
    return parts[0]


@settings(deadline=None, max_examples=examples(300))
@given(SEGMENTS)
def test_texts_in_which_nothing_is_found_are_kept_byte_for_byte(segments):
    part = part_of(segments)
    if part is None:
        return
    scrubbed = [kept(each.text) for each in HL7.read(part.content).texts]

    found = HL7.read(part.content).rebuilt(scrubbed, Same()).value.decode()

    # A bare line end would end the segment for other readers.
    assert part.content.replace("\n", "\\.br\\") + "\r" == found


@settings(deadline=None, max_examples=examples(400))
@given(SEGMENTS, st.data())
def test_a_rebuilt_message_reads_as_the_scrubbed_note(segments, data):
    part = part_of(segments)
    if part is None or not part.notes:
        return
    [text, *others] = [each.text for each in HL7.read(part.content).texts]
    scrubbed = data.draw(replacements(text))

    found = HL7.read(part.content).rebuilt([scrubbed, *map(kept, others)], Same())

    [again] = HL7.parts(found.value)
    # The end of the last text is stripped when a message is read.
    expected = [without_ends(scrubbed.text)] if scrubbed.text.strip() else []
    assert expected == [without_ends(note.text) for note in again.notes]
    names = [each[:3] for each in part.content.split("\r")]
    assert names == [each[:3] for each in again.content.split("\r")]


@st.composite
def replacements(draw, text):
    """Draw a scrubbed text: words within lines are replaced."""
    spans = [found.span() for found in re.finditer(r"[^\n]+", text)]
    pieces, rows, end, at = [], [], 0, 0
    for start, stop in spans:
        if not draw(st.booleans()):
            continue
        first = draw(st.integers(start, stop - 1))
        last = draw(st.integers(first + 1, stop))
        written = draw(st.text("Zz|^~\\&.", min_size=1, max_size=5))
        pieces += text[end:first], written
        begin = at + first - end
        at = begin + len(written)
        rows.append(Row(first, last, begin, at))
        end = last
    return ScrubbedDocument(
        "", "".join((*pieces, text[end:])), (), OffsetMap(tuple(rows))
    )


def without_ends(text):
    return re.sub(r" +$", "", text.strip("\n"), flags=re.MULTILINE).rstrip()


def moved(shown, year, month, day):
    assert re.fullmatch(r"\d{8}", shown)
    return (date.fromisoformat(shown) - date(year, month, day)).days


def digits(text):
    return re.sub(r"\D", "", text)


@pytest.mark.parametrize("segment", ["OBX|{}|TX|1^Report^L||{}", "NTE|{}||{}"])
@pytest.mark.parametrize("width", [40, 44, 45, 47, 50, 53, 60])
def test_a_name_that_lines_of_fixed_width_break_is_replaced_in_both(segment, width):
    text = (
        "The patient came in today with her sister. Quellwright Mabelle denies fever "
        "or chills and takes lisinopril, metformin and atorvastatin as she did before. "
        "Mrs. Quellwright lives alone and walks without help on most days of the week."
    )
    lines = [text[at : at + width] for at in range(0, len(text), width)]
    segments = (segment.format(at, each) for at, each in enumerate(lines, 1))
    pid = "PID|1||77881234^^^H^MR||Quellwright^Mabelle"
    msh = "MSH|^~\\&|LAB|H|||20240312||ORU^R01|1|P|2.5.1"

    [(found, _)] = deidentified("\r".join((msh, pid, *segments)).encode())

    written = found.value.decode()
    assert len(lines) == written.count(segment[:3])
    for part in ("Quell", "wright", "Mabel", "belle"):
        assert part not in written
    own = [each for each in written.split("\r") if each.startswith(segment[:3])]
    kept = "".join(each.rpartition("|")[2] for each in own)
    assert "chills and takes lisinopril, metformin and atorvastatin as she did" in kept
