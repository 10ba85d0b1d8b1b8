import hashlib
import json
import os
import subprocess
import sys
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path

import fastjsonschema
import hl7
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.demo.draft import HOWS, Draft
from streams.demo.pools import load_pools
from streams.demo.segments import escape
from streams.demo.slots import SLOTS
from streams.demo.ward import BROKEN_KINDS, Ward, broken_record

ROOT = Path(__file__).parents[3]
CODECS = {"": "ascii", "8859/1": "latin-1", "UNICODE UTF-8": "utf-8"}
FINDABLE_BY_RULE = {
    "titled",
    "titled_provider",
    "titled_stranger",
    "date",
    "birth_date",
    "age",
    "mrn",
    "ssn",
    "phone",
    "email",
}


@pytest.fixture(scope="module", params=["dev", "test"])
def ward(request):
    return Ward(seed=7, patients=60, split=request.param)


@pytest.fixture(scope="module")
def admissions(ward):
    return list(ward.admissions())


@pytest.fixture(scope="module")
def mixed(ward):
    return list(ward.messages(1200))


@pytest.fixture(scope="module")
def notes(ward, mixed):
    return [m for m in [*mixed, *ward.notes(120)] if m.text]


@pytest.fixture(scope="module")
def is_event():
    schema = json.loads((ROOT / "schemas/note_event/v1.json").read_bytes())
    validate = fastjsonschema.compile(schema)

    def is_event(value):
        try:
            validate(json.loads(value))
        except (ValueError, fastjsonschema.JsonSchemaException):
            return False
        return True

    return is_event


def is_hl7(message):
    return message.kind in {"adt", "merge", "oru", "mdm"}


def parsed(message):
    """The message, decoded as MSH-18 says."""
    return parse(message.value)


@cache
def parse(value):
    header = value.split(b"\r")[0].decode("latin-1").split("|")
    return hl7.parse(value.decode(CODECS[header[17]]))


def narrative(message):
    """The lines of OBX-5 and NTE-3 in order, unescaped."""
    fields = {"OBX": 5, "NTE": 3}
    lines = []
    for segment in message:
        name = str(segment(0))
        if name in fields:
            lines += [message.unescape(str(r)) for r in segment(fields[name])]
    return "\n".join(lines).replace("\r", "\n")


def components(field):
    return [str(component) for component in field[0]]


# -- Determinism ----------------------------------------------------------------------


def digest_in_process(hash_seed):
    code = (
        "import hashlib; from streams.demo.ward import Ward\n"
        "ward = Ward(seed=3, patients=25)\n"
        "runs = [ward.admissions(), ward.messages(80), ward.notes(40)]\n"
        "print(hashlib.sha256(repr([(m.kind, m.value, m.text, m.kept,"
        " [(p.value, p.start) for p in m.planted])"
        " for run in runs for m in run]).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": f"UTC{hash_seed}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_same_seed_gives_the_same_bytes_in_every_process():
    """Neither the order of sets nor the time zone changes a record."""
    assert digest_in_process("1") == digest_in_process("2")


@pytest.mark.parametrize(
    ("split", "digest"), [("dev", "005c8231b7ecf156"), ("test", "ef30101cc098c788")]
)
def test_a_seed_gives_the_same_ward_in_every_version(split, digest):
    """Figures of the ward, such as those of deploy/figures.md, stay comparable."""
    ward = Ward(seed=7, patients=25, split=split)

    values = [m.value or b"" for m in [*ward.admissions(), *ward.messages(100)]]

    assert digest == hashlib.sha256(b"".join(values)).hexdigest()[:16]


def test_what_is_drawn_does_not_depend_on_what_was_drawn_before():
    """Notes are the same whether or not admissions and messages were taken first."""
    ward = Ward(seed=3, patients=25)
    fresh = list(ward.notes(30))

    list(ward.admissions())
    list(ward.messages(100))

    assert fresh == list(ward.notes(30))
    assert list(ward.messages(30)) == list(ward.messages(60))[:30]


def test_another_seed_gives_another_ward():
    """The seed reaches people and messages."""
    digests = {
        hashlib.sha256(message.value).digest()
        for seed in range(4)
        for message in Ward(seed=seed, patients=2).notes(1)
    }

    assert len(digests) == 4


def test_dates_count_from_the_epoch():
    """The ward reads no clock: its first message has the day of the epoch."""
    ward = Ward(seed=3, patients=2, epoch=date(2019, 2, 28))

    (first, _) = ward.admissions()

    assert str(parsed(first).segment("MSH")(7)) == "20190228060000"


# -- Narratives -----------------------------------------------------------------------


def test_planted_identifiers_are_at_their_offsets(notes):
    """The offsets index code points of the narrative."""
    for note in notes:
        for planted in note.planted:
            end = planted.start + len(planted.value)
            assert planted.value == note.text[planted.start : end]


def test_planted_identifiers_occur_nowhere_else(notes):
    """A scorer may test survival by ``value in scrubbed``."""
    for note in notes:
        rest = list(note.text)
        for planted in note.planted:
            for place in range(planted.start, planted.start + len(planted.value)):
                rest[place] = "\0"
        for planted in note.planted:
            assert planted.value not in "".join(rest)


def test_every_note_names_its_patient_or_is_about_a_stranger(ward, notes):
    """The join is tested by each note on a known patient."""
    own = {"exact", "misspelt", "caps", "comma", "possessive", "titled", "first"}
    for note in notes:
        assert own & {planted.how for planted in note.planted}


def test_clinical_decoys_are_in_the_text_and_hold_no_identifier(notes):
    """What must survive does not overlap what must not."""
    for note in notes:
        assert note.kept
        taken = {planted.value for planted in note.planted}
        for decoy in note.kept:
            assert decoy in note.text
            assert not any(value in decoy for value in taken)


def test_every_way_of_planting_occurs_and_is_explained(notes):
    """The table of ways is complete and has no dead rows."""
    assert set(HOWS) == {planted.how for note in notes for planted in note.planted}


@pytest.mark.parametrize(
    "decoy",
    ["Foley catheter", "Parkinson disease", "Murphy sign", "for 2/7", "L4-5", "5/5"],
)
def test_usual_traps_occur_among_the_decoys(notes, decoy):
    """Eponyms, durations and levels look like names and dates."""
    assert any(decoy in kept for note in notes for kept in note.kept)


@pytest.mark.parametrize("words", [40, 150, 600])
def test_notes_have_about_the_requested_length(words):
    """A benchmark can choose the size of its notes."""
    ward = Ward(seed=1, patients=10, note_words=words)
    lengths = [len(note.text.split()) for note in ward.notes(60)]

    assert words * 0.8 < sum(lengths) / len(lengths) < words * 1.2 + 10


def test_only_ages_over_89_are_planted(notes):
    """45 CFR 164.514(b)(2)(i)(C) allows younger ages."""
    ages = [p.value for note in notes for p in note.planted if p.how == "age"]

    assert all(int(age.split("-")[0].split()[0]) > 89 for age in ages)


def test_strangers_come_as_json_with_what_rules_can_find(ward, notes, is_event):
    """A note on a patient who was never announced can be scrubbed without the join."""
    strangers = {person.index for person in ward.people if person.is_stranger}
    about_strangers = [note for note in notes if note.patient in strangers]

    assert about_strangers
    for note in about_strangers:
        assert note.kind == "json"
        assert "demographics" not in json.loads(note.value)
        assert {planted.how for planted in note.planted} <= FINDABLE_BY_RULE


def test_former_names_have_been_announced_before_they_are_planted(
    ward, admissions, mixed
):
    """A former name in a note is one that the patient's record can know."""
    announced = {person.index: set() for person in ward.people}
    for message in [*admissions, *mixed]:
        if message.kind in {"adt", "merge"}:
            announced[message.patient].update(str(parsed(message)).split("|"))
        for planted in message.planted:
            if planted.how == "former":
                known = " ".join(announced[message.patient])
                assert all(word in known for word in planted.value.split())


def test_an_ambiguous_draft_is_discarded():
    """An identifier must not also be a part of another word."""
    draft = Draft()
    draft.say("BP 123/14, seen ")
    draft.plant("3/14", "DATE", "date")

    assert draft.finish() is None


# -- Splits ---------------------------------------------------------------------------


def test_the_splits_share_no_template_and_no_site():
    """Rules are measured on other templates than they were written on."""
    dev, test = (load_pools(split, slots=SLOTS) for split in ("dev", "test"))

    def sentences(pools):
        return {template.parts for kind in pools.kinds for template in kind.templates}

    def headings(pools):
        return {s.heading for kind in pools.kinds for s in kind.sections}

    assert not sentences(dev) & sentences(test)
    assert not headings(dev) & headings(test)
    assert not {s.facility for s in dev.sites} & {s.facility for s in test.sites}
    assert [kind.name for kind in dev.kinds] == [kind.name for kind in test.kinds]


def test_every_kind_of_note_has_dozens_of_templates():
    """Notes of one kind differ from one another."""
    for split in ("dev", "test"):
        pools = load_pools(split, slots=SLOTS)
        assert all(len(kind.templates) >= 24 for kind in pools.kinds)


def test_the_splits_share_no_name():
    """A given name or surname belongs to one split."""

    def names(split):
        people = Ward(seed=1, patients=300, split=split).people
        every = [n for p in people for n in (p.name, *p.former_names, p.gp.name)]
        every += [kin.name for person in people for kin in person.kin]
        return {n.family for n in every}, {n.given for n in every}

    (dev_families, dev_given), (test_families, test_given) = names("dev"), names("test")

    assert not dev_families & test_families
    assert not dev_given & test_given
    assert "Parkinson" in dev_families
    assert "Foley" in test_families


def test_an_unknown_slot_is_refused():
    """A mistake in a template stops the ward instead of reaching a note."""
    with pytest.raises(ValueError, match="unknown slots patient; known: "):
        load_pools("dev", slots=[slot for slot in SLOTS if slot != "patient"])


# -- HL7 ------------------------------------------------------------------------------


def test_narratives_read_back_unchanged(notes):
    """Escapes, repetitions, formatted text and comments give the same lines."""
    reports = [note for note in notes if is_hl7(note)]

    assert {"OBX", "NTE"} <= {str(s(0)) for note in reports for s in parsed(note)}
    for note in reports:
        assert note.text == narrative(parsed(note))


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_escaped_text_unescapes_to_itself(text):
    """No delimiter of the message survives within a value."""
    message = hl7.parse(f"MSH|^~\\&|A\rOBX|1|TX|||{escape(text)}|end")

    assert text == message.unescape(str(message.segment("OBX")(5)))


def test_messages_have_the_segments_of_their_event(admissions, mixed):
    """HL7 v2.5.1 chapters 3.3.1, 3.3.40, 7.3.1 and 9.6.2."""
    orders = {
        "adt": ["EVN", "PID", "PD1", "NK1", "PV1"],
        "merge": ["EVN", "PID", "MRG"],
        "oru": ["PID", "PV1", "ORC", "OBR", "OBX"],
        "mdm": ["EVN", "PID", "PV1", "TXA", "OBX"],
    }
    for message in filter(is_hl7, [*admissions, *mixed]):
        names = list(dict.fromkeys(str(segment(0)) for segment in parsed(message)))
        expected = ["MSH", *orders[message.kind]]
        assert expected == names[: len(expected)]


def test_every_event_of_the_ward_occurs(admissions, mixed):
    """Admission, registration, both updates, merge, report and document."""
    events = {
        tuple(components(parsed(message).segment("MSH")(9))[:2])
        for message in filter(is_hl7, [*admissions, *mixed])
    }

    assert events == {
        ("ADT", "A01"),
        ("ADT", "A04"),
        ("ADT", "A08"),
        ("ADT", "A31"),
        ("ADT", "A40"),
        ("ORU", "R01"),
        ("MDM", "T02"),
    }


def test_versions_charsets_and_authorities_are_mixed(mixed):
    """A ward receives messages of many systems, from 2.3 to 2.8."""
    headers = [parsed(m).segment("MSH") for m in mixed if is_hl7(m)]

    assert {"2.3", "2.8"} <= {str(header(12)) for header in headers}
    assert set(CODECS) == {str(header(18)) for header in headers}
    assert len({str(header(4)) for header in headers}) >= 6


def test_withdrawn_fields_are_not_used_after_their_time(admissions):
    """From 2.7 on the SSN is an identifier of PID-3, and XTN has no first component."""
    for message in map(parsed, admissions):
        pid = message.segment("PID")
        is_new = str(message.segment("MSH")(12)) >= "2.7"
        assert is_new == (len(pid) < 20)
        assert is_new == ("^SSA^SS" in str(pid(3)))
        assert is_new == str(pid(13)).startswith("^PRN^PH^^1^")


def test_admissions_carry_all_demographics(ward, admissions):
    """Names, birth date, address, phone, e-mail, ids, kin and providers."""
    people = {person.index: person for person in ward.people}
    for message in admissions:
        person = people[message.patient]
        text = str(parsed(message))
        address, kin = person.address, person.kin
        assert f"{person.birth:%Y%m%d}" in text
        for value in (
            person.name.family,
            person.name.given,
            *(name.family for name in person.former_names),
            address.street,
            address.city,
            address.zip,
            person.email,
            person.ssn,
            person.account,
            *(each.name.family for each in kin),
            person.gp.name.family,
            person.attending.name.family,
        ):
            assert escape(value) in text


def test_a_merge_takes_away_a_number_that_was_admitted(ward, admissions, mixed):
    """Both numbers had a record of their own before A40."""
    admitted = {
        (m.patient, components(parsed(m).segment("PID")(3)[0])[0]) for m in admissions
    }
    merges = [message for message in mixed if message.kind == "merge"]

    assert merges
    assert len(merges) == len({message.patient for message in merges})
    for message in merges:
        pid, mrg = (parsed(message).segment(name) for name in ("PID", "MRG"))
        numbers = {components(field[0])[0] for field in (pid(3), mrg(1))}
        assert {number for i, number in admitted if i == message.patient} == numbers


def test_the_second_number_is_used_between_its_merge_and_the_next_update(ward, mixed):
    """Then, and only then, do both keys hold the same record."""
    people = {person.index: person for person in ward.people}
    open_merges = set()
    uses = 0
    for message in mixed:
        if message.kind == "merge":
            open_merges.add(message.patient)
        elif message.kind == "adt":
            open_merges.discard(message.patient)
        elif message.text:
            second = people[message.patient].second_mrn.encode()
            is_under_second = bool(second) and second in message.value
            uses += is_under_second
            assert message.patient in open_merges or not is_under_second
    assert uses


# -- The mixture ----------------------------------------------------------------------


def test_json_events_are_valid(notes, is_event):
    """The ward's events keep the contract of the topic, demographics included."""
    events = [note.value for note in notes if note.kind == "json"]

    assert any(b'"demographics"' in event for event in events)
    assert all(is_event(event) for event in events)


def test_the_narrative_of_an_event_is_its_text(notes):
    """Planted identifiers are in the published text."""
    for note in notes:
        if note.kind == "json":
            assert note.text == json.loads(note.value)["text"]


def test_about_two_in_a_hundred_records_are_broken(mixed):
    """Each common kind comes in turn, and the one of ten megabytes never."""
    codes = [message.code for message in mixed if message.kind == "broken"]

    assert 0.01 < len(codes) / len(mixed) < 0.03
    common = [broken.code for broken in BROKEN_KINDS.values() if broken.is_common]
    assert common == codes[: len(common)]
    assert "too_large" not in codes


def test_notes_go_round_all_patients(ward):
    """Every key gets its share."""
    indices = [note.patient for note in ward.notes(180)]

    assert {indices.count(person.index) for person in ward.people} == {3}
    assert indices[:60] != indices[60:120]


def test_control_ids_and_times_only_grow(mixed):
    """Messages come in the order of their time, and no id comes twice."""
    stamps = [
        (str(header(7)), str(header(10)))
        for header in (parsed(m).segment("MSH") for m in mixed if is_hl7(m))
    ]

    assert all(a < b for a, b in pairwise(stamps))


def test_a_record_in_a_log_line_shows_no_identifier(ward, notes):
    """Narratives, values, planted identifiers and people are hidden from repr."""
    for note in notes[:50]:
        shown = repr(note) + repr(note.planted) + repr(ward.people[note.patient])
        assert all(planted.value not in shown for planted in note.planted)


@pytest.mark.parametrize("options", [{"patients": 0}, {"note_words": 0}])
def test_an_empty_ward_is_refused(options):
    """There is nothing to draw from."""
    with pytest.raises(ValueError, match="at least 1"):
        Ward(seed=1, **options)


# -- Broken records -------------------------------------------------------------------


def test_a_null_value_is_none():
    """A tombstone on the raw topic has no value at all."""
    assert broken_record("null") is None


def test_the_huge_note_is_larger_than_ten_megabytes():
    """It is well-formed otherwise: only its size is wrong."""
    value = broken_record("huge")

    assert len(value) > 10 << 20
    assert components(hl7.parse(value[:1000].decode()).segment("MSH")(9))[0] == "ORU"


def test_the_undecodable_record_is_not_in_its_charset():
    """MSH-18 declares UTF-8, and the bytes are none."""
    value = broken_record("undecodable")

    assert b"|UNICODE UTF-8\r" in value
    with pytest.raises(UnicodeDecodeError):
        value.decode()


def test_broken_headers_give_no_event():
    """MSH is misspelt, bare, or cut before MSH-9."""
    values = [broken_record(k) for k, b in BROKEN_KINDS.items() if b.code == "bad_msh"]

    assert len(values) == 3
    assert all(not v.startswith(b"MSH|") or v.count(b"|") < 8 for v in values)


def test_the_unknown_event_is_in_no_chapter():
    """The message is whole, and its event unknown."""
    message = hl7.parse(broken_record("unknown_event").decode())

    assert components(message.segment("MSH")(9)) == ["ZZZ", "Z99"]


def test_records_without_patient_have_an_empty_or_no_pid():
    """There is nothing to key the note by."""
    with_pid = hl7.parse(broken_record("no_patient").decode())
    without = hl7.parse(broken_record("no_pid").decode())

    assert not str(with_pid.segment("PID")(3))
    assert "PID" not in [str(segment(0)) for segment in without]


@pytest.mark.parametrize("kind", ["bad_json", "schema", "schema_patient"])
def test_broken_events_are_refused(is_event, kind):
    """One is no JSON; the others are, and break the schema."""
    value = broken_record(kind)

    assert not is_event(value)
    if BROKEN_KINDS[kind].code == "schema":
        assert isinstance(json.loads(value), dict)


def test_an_unknown_kind_of_broken_record_is_refused():
    """The message names the known ones."""
    with pytest.raises(ValueError, match=r"'nul'; known: null, huge"):
        broken_record("nul")
