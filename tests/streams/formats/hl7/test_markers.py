"""No value of a message survives where no rule says so.

Every field, component and subcomponent holds a marker of its own.  Free texts are
replaced as a whole, so that a marker in the output was passed by a rule.
"""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.errors import InvalidRecord
from streams.formats.hl7.field_rules import VERSIONS, Rules
from streams.formats.hl7.message import delimiters_of, unescape
from streams.formats.hl7.rebuilding import HEADERS
from streams.formats.readers import HL7
from tests.sampling import examples
from tests.streams.formats.hl7.rebuilding import (
    Same,
    covered,
    deidentified,
    fields,
    kept,
    rebuilt,
)

RULES = Rules()
WIDE, DEEP = (27, 5), (3, 23)
"""Numbers of components, and of subcomponents in each: XCN has 25, a CWE in it 22."""
MARKERS = {
    "number": "{:07}",
    "word": "Zq{}",
    "spaced": "Zq {} of",
    "escaped": r"Zq\T\{}\X41\ ",
    "mixed": "Zq-{:07}",
    "url": "zq.test/{}",
}
"""Forms of a marker; a letter for each digit makes the words of letters."""
OTHER_SEGMENTS = ("ZPD", "PRB", "QQQ", "ZZZ")
AFTER = 3
"""Fields beyond those of the standard."""


class Markers:
    """Makes markers, and finds them again."""

    def __init__(self, form, shape=WIDE):
        self.form = form
        self.shape = shape
        self.numbers = count(10_000_001)
        self.made = []
        self.total = 0

    def one(self):
        number = str(next(self.numbers))
        word = "".join(chr(ord("a") + int(each)) for each in number)
        shown = word if self.form in ("word", "spaced", "escaped") else int(number)
        self.made.append(str(shown))
        return MARKERS[self.form].format(shown)

    def field(self):
        components, subcomponents = self.shape
        return "^".join(
            "&".join(self.one() for _ in range(subcomponents))
            for _ in range(components)
        )

    def segment(self, name, numbers, **given):
        values = [given.get(f"f{n}") or self.field() for n in numbers]
        return "|".join((name, *values))

    def found_in(self, rebuilt):
        """Return the markers since the last call that something of a message shows."""
        made, self.made = self.made, []
        self.total += len(made)
        text = f"{rebuilt.value.decode()}{rebuilt.removed}{rebuilt.unreadable}"
        return [each for each in made if each in text]


def messages_of(markers, version):
    """Yield messages that hold every segment of a version, full of markers."""
    rules = RULES.of(version)
    given = {"f2": "^~\\&", "f9": "ORU^R01", "f12": version, "f18": "UNICODE UTF-8"}
    plain = f"MSH|^~\\&|||||||ORU^R01|C1|P|{version}"
    yield markers.segment("MSH", numbers_of(rules["MSH"])[1:], **given) + "\rPID|||4711"
    yield f"{plain}\r{markers.segment('PID', numbers_of(rules['PID']))}"
    for row in rows_of(markers, rules):
        yield f"{plain}\rPID|||4711\r{row}"


def rows_of(markers, rules):
    for name, numbers in rules.items():
        if name not in ("PID", *HEADERS):
            yield markers.segment(name, numbers_of(numbers))
    for type_ in (*RULES._types, "ZZ", " "):
        yield markers.segment("OBX", range(1, 7), f2=type_)
    for name in OTHER_SEGMENTS:
        yield markers.segment(name, range(1, 9))


def numbers_of(rules):
    return range(1, max(rules) + AFTER)


@pytest.mark.parametrize(
    ("version", "form", "shape"),
    [
        *((version, "number", WIDE) for version in VERSIONS),
        *((version, "word", WIDE) for version in ("2.1", "2.3", "2.5.1", "2.8.2")),
        *(("2.5.1", form, WIDE) for form in ("spaced", "escaped", "mixed", "url")),
        *(("2.8.2", form, DEEP) for form in ("number", "word")),
    ],
)
def test_no_marker_is_in_the_rebuilt_message(version, form, shape):
    markers = Markers(form, shape)

    for text in messages_of(markers, version):
        found = rebuilt(text.encode(), scrub=covered)
        assert markers.found_in(found) == []

    assert markers.total > 10_000


def test_the_markers_are_found_where_something_passes_them():
    """The test above would pass as well if nothing came through."""
    markers = Markers("word")

    passed = [
        text
        for text in messages_of(markers, "2.5.1")
        if markers.found_in(rebuilt(text.encode(), Same(), scrub=kept))
    ]

    assert len(passed) > 50


def test_the_delimiters_of_another_header_are_removed():
    content = "MSH|^~\\&|||||||ORU^R01|C1|P|2.5\rPID|||4711\rBHS|Edith"

    found = HL7.read(content).rebuilt([], Same())

    assert b"Edith" not in found.value
    assert found.removed == {"BHS-2": 1}


def test_batch_headers_are_removed():
    batch = "FHS|^~\\&|zqmarker\rBHS|^~\\&|zqmarker\r{}\rBTS|1|zqmarker\rFTS|1|zqmarker"
    message = "MSH|^~\\&|||||||ORU^R01|C1|P|2.5\rPID|||4711\rOBX|1|TX|||text"

    assert b"zqmarker" not in rebuilt(batch.format(message).encode()).value


@pytest.mark.parametrize("policy", ["surrogate", "safe-harbor", "internal-qa"])
@pytest.mark.parametrize("version", ["2.1", "2.3", "2.5.1", "2.8"])
def test_nothing_of_the_record_is_in_the_rebuilt_message(policy, version):
    """Each value is in its field and in notes, comments and texts of other fields."""
    [(found, _)] = deidentified(RECORD.format(version=version).encode(), policy)

    text = unescape_all(found.value.decode())
    assert [each for each in VALUES if each.casefold() in text.casefold()] == []


VALUES = (
    *("Quellwright", "Mabelle", "Ottoline", "Zebedee", "Featherstonhaugh", "Wyomina"),
    *("Ignatius", "Cadwallader", "Peregrina", "771188234", "880012", "66019274"),
    *("123-45-6789", "D4455-6677", "41 Larkspur", "Ebensburg", "15931", "555-0147"),
    *("5550147", "mabelle@example.test", "XJ9921745", "19310417", "20240229", "0930"),
    *("4/17/1931", "2/29/2024", "E7741902", "Tanglewood Cannery"),
)
NOTE = (
    "Mabelle Quellwright, MRN 771188234, SSN 123-45-6789, born 4/17/1931, of 41 "
    "Larkspur "
    "Lane, Ebensburg, PA 15931, tel (814) 555-0147, came on 2/29/2024 with her husband "
    "Zebedee Quellwright; mother Wyomina Featherstonhaugh. Dr. Ignatius "
    "Cadwallader and "
    "Peregrina Cadwallader, RN, saw her. Account 880012, policy XJ9921745. "
    "Write to mabelle@example.test."
)
RECORD = "\r".join(
    (
        "MSH|^~\\&|APP|TANGLE||FAC|202402290930||ORU^R01|E7741902|P|{version}",
        "EVN|R01|202402290930|||66019274^Cadwallader^Peregrina",
        "PID|1|771188234|771188234^^^TANGLE^MR~123-45-6789^^^US^SS|771188234|"
        "Quellwright^Mabelle^Ottoline|Featherstonhaugh^Wyomina|19310417|F|"
        "Quellwright^Ottoline||41 Larkspur Lane^^Ebensburg^PA^15931||(814)555-0147"
        "^PRN^PH^mabelle@example.test^1^814^5550147||||||880012|123-45-6789|"
        "D4455-6677^PA|771188234||Ebensburg||||||20240229|Y",
        "PD1||||66019274^Cadwallader^Ignatius",
        "NK1|1|Quellwright^Zebedee|SPO|41 Larkspur Lane^^Ebensburg^PA^15931|"
        "(814)555-0147"
        "|(814)555-0147||||Quellwright Mabelle|||Tanglewood Cannery|||19310417|||||||||"
        "|Featherstonhaugh^Wyomina||||Quellwright^Zebedee|(814)555-0147|41 "
        "Larkspur Lane"
        "^^Ebensburg^PA^15931|771188234||||123-45-6789",
        "PV1|1|I|QUELLWRIGHT^12^A||880012|EBENSBURG|66019274^Cadwallader^Ignatius|"
        "66019274^Cadwallader^Peregrina|Cadwallader||||||||66019274^Cadwallader^"
        "Ignatius"
        "||880012",
        "MRG|771188234|771188234|880012|771188234|880012|880012|Quellwright^Mabelle",
        "GT1|1|880012|Quellwright^Mabelle|Quellwright^Zebedee|41 Larkspur Lane^^"
        "Ebensburg"
        "^PA^15931|(814)555-0147|(814)555-0147|19310417||||123-45-6789",
        "IN1|1|HMO|880012|Tanglewood Cannery|41 Larkspur Lane^^Ebensburg|Cadwallader"
        "^Ignatius|(814)555-0147|XJ9921745|Tanglewood Cannery|XJ9921745||20240229|"
        "20240229|||Quellwright^Mabelle|SEL|19310417|41 Larkspur Lane^^Ebensburg^"
        "PA^15931"
        "|||||||||||||||||XJ9921745|||||||||||||XJ9921745",
        "ACC|20240229||41 Larkspur Lane, Ebensburg||||66019274^Cadwallader|" + NOTE,
        "AL1|1|DA|QUELLWRIGHT^Mabelle Quellwright^L|MABELLE|" + NOTE,
        "DG1|1||771188234^Mabelle Quellwright^L|" + NOTE + "|20240229",
        "OBR|1|E7741902^APP|E7741902|11506-3^Mabelle Quellwright^LN|||"
        "20240229093000||||||"
        + NOTE + "|||66019274^Cadwallader^Ignatius|(814)555-0147",
        "OBX|1|TX|1^Mabelle Quellwright^L|771188234|" + NOTE + "|Quellwright|"
        "Quellwright",
        "OBX|2|FT|||" + NOTE.replace(", ", r"\.br\ ") + "||||||F|||202402290930||"
        "66019274^Cadwallader^Ignatius",
        "OBX|3|NM|MRN||771188234",
        "OBX|4|XPN|1||Quellwright^Mabelle",
        "OBX|5|DT|1||20240229",
        "OBX|6|CX|1||771188234^^^TANGLE^MR",
        "OBX|7|IS|1||Mabelle",
        "OBX|8|RP|1||\\\\host\\Quellwright.pdf^APP^application^pdf",
        "NTE|1||" + NOTE + "~" + NOTE + "|Mabelle",
        "ZPD|Quellwright|" + NOTE,
    )
)  # fmt: skip


def unescape_all(text):
    return unescape(text, delimiters_of(text))


SOURCES = st.text("abcZ09 .^~&\\|\n\rHNX\x00\x1b\u00e9\u2028-/:", max_size=40)


@settings(deadline=None, max_examples=examples(300))
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["PID", "OBX", "NTE", "OBR", "PV1", "NK1", "ZPD", "MSH"]),
            st.lists(SOURCES, max_size=12),
        ),
        max_size=6,
    )
)
def test_any_message_is_rebuilt_or_refused(rows):
    """What is rebuilt can be read again, and has the same patient group."""
    head = "MSH|^~\\&|||||||ORU^R01|C1|P|2.5.1\rPID|1||4711"
    value = "\r".join((head, *("|".join((name, *each)) for name, each in rows)))

    try:
        parts = HL7.parts(value.encode())
    except InvalidRecord:
        return
    for part in parts:
        texts = HL7.read(part.content).texts
        assert [note.text for note in part.notes] == [
            each.text for each in texts[: len(part.notes)]
        ]
        done = HL7.read(part.content).rebuilt(
            [covered(each.text) for each in texts], Same()
        )
        assert len(HL7.parts(done.value)) == 1


def test_a_place_never_shows_a_value():
    found = rebuilt(
        b"MSH|^~\\&|||||||ORU^R01|C1|P|2.5\rPID|||4711\rEdith\rOBX|1|ED|||A^Edith^Edith^x^y"
    )

    assert found.unreadable == {"broken": 1}
    assert "".join(fields(found, "OBX")[5].split("^")) == ""
