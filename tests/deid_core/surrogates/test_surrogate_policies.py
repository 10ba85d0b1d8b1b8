"""The policies on a note, and what holds for all of a patient's notes."""

from __future__ import annotations

import re
from datetime import date, datetime

import pytest
import zipcodes
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deid_core import (
    Annotation,
    Deidentifier,
    Document,
    Label,
    ResidueFound,
    Span,
    Verifier,
    load_policy,
)
from deid_core.language.lexicons import forms_of
from deid_core.surrogates.calendar import RELEASED
from deid_core.surrogates.real import without_separators
from tests.deid_core.surrogates.surrogate_cases import KEY, KNOWN, OTHER_KEY
from tests.sampling import examples

NOTE = """\
Ms. «NAME:PATIENT|Mabel Quellwright» (MRN «ID:MEDICALRECORD|77-88-1234») is a \
«AGE|92»-year-old from «LOCATION:CITY|Springfield», «LOCATION:STATE|IL» \
«LOCATION:ZIP|62704», born «DATE|March 14, 1932», seen on «DATE|3/14/2024» by \
Dr. «NAME:DOCTOR|O'Brien». «NAME:PATIENT|QUELLWRIGHT, MABEL» was last here \
«DATE|2/1/2024». Call «CONTACT:PHONE|(217) 555-0123»."""

MARK = re.compile(r"«([^|»]*)\|([^»]*)»")


class Marked:
    """Proposes what is marked in a document."""

    name = "marked"
    reads_as_written = False

    def __init__(self, marked):
        # The pipeline may show a detector the note in another case.
        self._proposals = {plain(n).lower(): annotations_of(n) for n in marked}

    def __call__(self, documents):
        # A reading without the line ends that may cut something holds nothing more.
        return [list(self._proposals.get(each.text.lower(), [])) for each in documents]


def plain(note):
    return MARK.sub(r"\2", note)


def annotations_of(note):
    annotations, shift = [], 0
    for found in MARK.finditer(note):
        start = found.start() - shift
        end = start + len(found[2])
        shift = found.end() - end
        annotations.append(
            Annotation(Span(start, end), Label(found[1]), 0.9, "marked", "x")
        )
    return annotations


def scrubbed(note, policy, *, key=KEY, patient="p1", known=KNOWN):
    system = Deidentifier([Marked([note])], load_policy(policy), key)
    return system.deidentify(Document("n1", plain(note), known, patient))


def parts(note, policy, **arguments):
    """Return the replacement of each marked value."""
    result = scrubbed(note, policy, **arguments)
    return [
        result.text[row.scrubbed_start : row.scrubbed_end]
        for row in result.offset_map.rows
    ]


def test_safe_harbor():
    assert scrubbed(NOTE, "safe-harbor", key=None).text == (
        "Ms. [NAME:PATIENT] (MRN [ID:MEDICALRECORD]) is a 90+-year-old from "
        "[LOCATION:CITY], IL 627, born [DATE], seen on [DATE] by Dr. [NAME:DOCTOR]. "
        "[NAME:PATIENT] was last here [DATE]. Call [CONTACT:PHONE]."
    )


def test_i2b2():
    assert scrubbed(NOTE, "i2b2", key=None).text == (
        "Ms. [NAME:PATIENT] (MRN [ID:MEDICALRECORD]) is a [AGE]-year-old from "
        "[LOCATION:CITY], [LOCATION:STATE] [LOCATION:ZIP], born [DATE], seen on "
        "[DATE] by Dr. [NAME:DOCTOR]. [NAME:PATIENT] was last here [DATE]. "
        "Call [CONTACT:PHONE]."
    )


PROFESSIONS = [
    ("plumber", True),
    ("retired air traffic controller", True),
    ("schoolteacher", True),
    ("Acme foreman", False),
    ("mayor of Zzyzx", False),
    ("Quellwright", False),
    ("Mabel", False),
    ("unit 4 guard", False),
]


@pytest.mark.parametrize(("text", "is_kept"), PROFESSIONS)
def test_safe_harbor_keeps_a_profession_that_holds_no_name(text, is_kept):
    note = f"a «PROFESSION|{text}»"

    assert parts(note, "safe-harbor") == [text if is_kept else "[PROFESSION]"]
    assert parts(note, "i2b2") == ["[PROFESSION]"]


def test_a_profession_that_another_detector_calls_a_name_does_not_stay():
    note = "a plumber"
    found = [
        Annotation(Span(2, 9), label, score, "t", "x")
        for label, score in ((Label.PROFESSION, 0.9), (Label.PATIENT, 0.1))
    ]
    detector = Marked([note])
    detector._proposals = {note: found}
    system = Deidentifier([detector], load_policy("safe-harbor"))

    assert system.deidentify(Document("n1", note)).text == "a [PROFESSION]"


WEEKDAYS = "Seen «DATE|3/14/2024», again on Tuesday and SUNDAY; dialysis on Mondays."


def test_weekdays_alone_move_with_the_dates():
    """Habits too, which are no PHI and stay where dates do not move."""
    for patient in range(20):
        result = scrubbed(WEEKDAYS, "surrogate", patient=str(patient)).text
        day, *weekdays = re.fullmatch(
            r"Seen (.*), again on (.*) and (.*); dialysis on (.*)s\.", result
        ).groups()
        moved = datetime.strptime(day, "%m/%d/%Y").date() - date(2024, 3, 14)
        expected = [
            (date(2024, 3, each) + moved).strftime("%A") for each in (12, 17, 11)
        ]
        assert weekdays == [expected[0], expected[1].upper(), expected[2]]
    for policy in ("safe-harbor", "i2b2", "limited-data-set", "internal-qa"):
        assert scrubbed(WEEKDAYS, policy).text.endswith(
            "again on Tuesday and SUNDAY; dialysis on Mondays."
        )


def test_weekdays_stay_where_dates_move_by_whole_weeks(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        'name="a"\ndefault="tag"\ndates="shift"\n[options]\nkeep_weekday=true\n'
    )

    assert scrubbed(WEEKDAYS, str(path)).text.endswith(WEEKDAYS.partition("»")[2])


def test_a_weekday_in_a_name_is_the_name_s():
    note = "«NAME:PATIENT|Tuesday Quellwright» came on Friday"
    [name, day] = parts(note, "surrogate")

    assert "Quellwright" not in name
    assert day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Saturday", "Sunday")


def test_limited_data_set():
    assert scrubbed(NOTE, "limited-data-set", key=None).text == (
        "Ms. [NAME:PATIENT] (MRN [ID:MEDICALRECORD]) is a 92-year-old from "
        "Springfield, IL 62704, born March 14, 1932, seen on 3/14/2024 by "
        "Dr. [NAME:DOCTOR]. [NAME:PATIENT] was last here 2/1/2024. "
        "Call [CONTACT:PHONE]."
    )


def test_internal_qa():
    name, mrn, age, city, state, zip_, *rest = parts(NOTE, "internal-qa")
    birth, seen, doctor, again, before, phone = rest

    assert age == "90+"
    assert name == again
    assert len({birth, seen, before}) == 3
    for text, label in (
        (name, "NAME:PATIENT"),
        (mrn, "ID:MEDICALRECORD"),
        (city, "LOCATION:CITY"),
        (state, "LOCATION:STATE"),
        (zip_, "LOCATION:ZIP"),
        (birth, "DATE"),
        (doctor, "NAME:DOCTOR"),
        (phone, "CONTACT:PHONE"),
    ):
        assert re.fullmatch(rf"\[{label}-[0-9a-f]{{8}}\]", text)


def test_surrogate():
    name, mrn, age, city, state, zip_, *rest = parts(NOTE, "surrogate")
    birth, seen, doctor, again, before, phone = rest

    assert re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+", name)
    assert re.fullmatch(r"\d\d-\d\d-\d{4}", mrn)
    assert age == "90+"
    [found] = zipcodes.matching(zip_)
    assert (city, state) == (found["city"], found["state"])
    assert re.fullmatch(r"[A-Z][a-z]+", doctor)
    assert again == ", ".join(reversed(name.upper().split()))
    assert re.fullmatch(r"\([2-9]\d\d\) 555-01\d\d", phone)
    assert birth == f"{RELEASED - 90} or earlier"
    days = [datetime.strptime(each, "%m/%d/%Y").date() for each in (seen, before)]
    real = [date(2024, 3, 14), date(2024, 2, 1)]
    assert len({new - old for new, old in zip(days, real, strict=True)}) == 1


def test_the_key_is_named_by_its_id_and_only_where_it_was_used():
    first = scrubbed(NOTE, "surrogate").key_id

    assert re.fullmatch("[0-9a-f]{8}", first)
    assert first == scrubbed(NOTE, "internal-qa").key_id
    assert first != scrubbed(NOTE, "surrogate", key=OTHER_KEY).key_id
    assert scrubbed(NOTE, "safe-harbor").key_id == ""


def test_a_note_type_has_its_own_styles(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        'name="a"\ndefault="tag"\n[note_type."11506-3".labels]\n"NAME:DOCTOR"="mask"'
    )
    note = "by «NAME:DOCTOR|Roe»"
    system = Deidentifier([Marked([note])], load_policy(str(path)))

    def text(note_type):
        document = Document("n1", plain(note), note_type=note_type)
        return system.deidentify(document).text

    assert [text("11506-3"), text("34133-9")] == ["by Xxx", "by [NAME:DOCTOR]"]


@pytest.mark.parametrize(
    ("policy", "is_kept"), [("limited-data-set", True), ("safe-harbor", False)]
)
def test_verify_asks_only_for_what_the_policy_withholds(policy, is_kept):
    """
    A town and a birth date that no detector found may stay where the policy keeps them.
    """
    note = "born 3/14/1932 in Springfield 62704, «NAME:PATIENT|Mabel»"

    if is_kept:
        assert "Springfield" in scrubbed(note, policy, key=None).text
    else:
        with pytest.raises(ResidueFound, match=r"address .*birth date"):
            scrubbed(note, policy, key=None)


def test_verify_asks_for_all_else_of_a_limited_data_set():
    with pytest.raises(ResidueFound, match="patient name"):
        scrubbed("Quellwright 3/14/1932", "limited-data-set", key=None)


def test_a_single_value_is_replaced_as_in_the_note():
    system = Deidentifier([], load_policy("surrogate"), KEY)
    field = Document("PID", "", KNOWN, "p1")
    name, mrn, *_ = parts(NOTE, "surrogate")

    assert mrn == system.replaced_value(field, Label.MEDICALRECORD, "77-88-1234")
    assert name == system.replaced_value(field, Label.PATIENT, "Mabel Quellwright")
    family = system.replaced_value(field, Label.PATIENT, "QUELLWRIGHT")
    assert name.split()[1].upper() == family


VALUES = [
    ("NAME:PATIENT", "Quellwright"),
    ("NAME:PATIENT", "Mabel"),
    ("NAME:DOCTOR", "O'Brien"),
    ("NAME:DOCTOR", "Steven Kowalczyk"),
    ("ID:MEDICALRECORD", "0077881234"),
    ("ID:IDNUM", "AB-12345"),
    ("ID:SSN", "123-45-6789"),
    ("CONTACT:PHONE", "(217) 555-0123"),
    ("CONTACT:EMAIL", "mabel.quellwright@mail.test"),
    ("CONTACT:URL", "www.quellwright.test"),
    ("CONTACT:IPADDR", "10.1.2.3"),
    ("NAME:USERNAME", "mquell7"),
    ("LOCATION:STREET", "12 Oak Street"),
    ("LOCATION:CITY", "Springfield"),
    ("LOCATION:STATE", "Illinois"),
    ("LOCATION:COUNTRY", "Kenya"),
    ("LOCATION:ZIP", "62704"),
    ("LOCATION:HOSPITAL", "St. Mary's Hospital"),
    ("LOCATION:ORGANIZATION", "Acme Widgets"),
    ("LOCATION:OTHER", "Central Park"),
    ("PROFESSION", "plumber"),
    ("DATE", "3/14/2024"),
]
values = st.lists(st.sampled_from(VALUES), min_size=2, max_size=12)
some_text = st.text("abc .\n", max_size=5)


@st.composite
def notes(draw):
    """Two notes that hold the same values in other places."""
    chosen = draw(values)
    marked = [f"«{label}|{text}»" for label, text in chosen]
    others = draw(st.permutations(marked))
    gaps = st.lists(some_text, min_size=len(marked), max_size=len(marked))
    first, second = draw(gaps), draw(gaps)
    return [
        "".join(f"{gap} {each} " for gap, each in zip(gaps_, marks, strict=True))
        for gaps_, marks in ((first, marked), (second, others))
    ]


NUMBER_AT_A_LINE_END = [
    "«ID:MEDICALRECORD|0077881234» \n «CONTACT:IPADDR|10.1.2.3»",
    "«CONTACT:IPADDR|10.1.2.3»  «ID:MEDICALRECORD|0077881234»",
]


@example(NUMBER_AT_A_LINE_END, "surrogate", 0)
@settings(max_examples=examples(100), deadline=None)
@given(notes(), st.sampled_from(["surrogate", "internal-qa"]), st.integers(0, 50))
def test_a_value_has_one_surrogate_everywhere(pair, policy, patient):
    """In one note and in another, at any place."""
    written = {}
    for note in pair:
        originals = [found[2] for found in MARK.finditer(note)]
        for text, new in zip(
            originals, parts(note, policy, patient=str(patient)), strict=True
        ):
            written.setdefault(text, set()).add(new)

    assert all(len(each) == 1 for each in written.values())


@settings(max_examples=examples(100), deadline=None)
@given(values, st.integers(0, 200))
def test_no_surrogate_is_a_real_value(chosen, patient):
    """
    Neither the original, nor a value of the record, nor another value of the note.
    """
    note = " ".join(f"«{label}|{text}»" for label, text in chosen)
    real = {without_separators(text) for _, text in VALUES}
    names = {"mabel", "quellwright", "tobias", "okonkwo", "ada", "patrick", "obrien"}

    for new in parts(note, "surrogate", patient=str(patient)):
        assert without_separators(new) not in real
        assert names.isdisjoint(forms_of(new))
        assert not Verifier().leaked_in(KNOWN, [new])


@settings(max_examples=examples(50), deadline=None)
@given(st.binary(min_size=32, max_size=40), st.binary(min_size=32, max_size=40))
def test_outputs_of_two_keys_have_no_surrogate_in_common(one, other):
    """
    Only values of few possible surrogates (days, states, phones) may agree by chance.
    """
    if one == other:
        return
    wide = [each for each in VALUES if each[0] in WIDE]
    note = " ".join(f"«{label}|{text}»" for label, text in wide)
    pairs = zip(
        parts(note, "surrogate", key=one),
        parts(note, "surrogate", key=other),
        strict=True,
    )

    assert sum(new == also for new, also in pairs) <= 1
    first, second = (
        parts(note, "internal-qa", key=one),
        parts(note, "internal-qa", key=other),
    )
    assert set(first).isdisjoint(second)


LETTER = """\
«NAME:PATIENT|Mabel Quellwright», DOB «DATE|3/14/1932», «AGE|92», of \
«LOCATION:STREET|12 Oak Street», «LOCATION:CITY|Springfield», «LOCATION:STATE|IL» \
«LOCATION:ZIP|62704», with «NAME:PATIENT|Tobias Quellwright», was at \
«LOCATION:HOSPITAL|St. Mary's Hospital» on «DATE|Thanksgiving», and at \
«LOCATION:HOSPITAL|University of Illinois Hospital, Chicago, IL» on «DATE|Tuesday, \
3/12/2024»; «NAME:DOCTOR|O'Brien» called on Sunday. «LOCATION:ORGANIZATION|Acme \
Widgets»."""


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(min_size=32, max_size=32), st.integers(0, 10_000))
def test_verify_lets_surrogates_pass(key, patient):
    """No surrogate of any key is taken for a value that survived."""
    result = scrubbed(LETTER, "surrogate", key=key, patient=str(patient)).text

    assert "[" not in result.replace("[DATE]", "")
    for real in ("Mabel", "Quellwright", "Tobias", "Springfield", "62704", "St. Mary"):
        assert real not in result


WIDE = {"ID:MEDICALRECORD", "ID:IDNUM", "ID:SSN", "CONTACT:EMAIL", "NAME:DOCTOR"}


def test_other_values_of_the_note_change_no_surrogate():
    """A field, which has no note, must show what the note shows."""
    for value, label in (
        ("Mabel", "NAME:PATIENT"),
        ("Illinois", "LOCATION:STATE"),
        ("Springfield", "LOCATION:CITY"),
        ("Mercy", "LOCATION:HOSPITAL"),
        ("4711", "ID:IDNUM"),
    ):
        [alone] = parts(f"«{label}|{value}»", "surrogate")

        new, other = parts(f"«{label}|{value}» and «{label}|{alone}»", "surrogate")

        assert alone == new
        assert other not in (alone, value)


def test_a_value_is_its_own_surrogate_in_no_form():
    for text in ("Virginia", "West Virginia", "North Carolina"):
        for patient in range(60):
            [new] = parts(f"«LOCATION:STATE|{text}»", "surrogate", patient=str(patient))
            assert set(forms_of(text)).isdisjoint(forms_of(new))
