"""Realistic names: every part of a name stays that name, whatever the form."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import (
    Annotation,
    Document,
    KnownIdentifiers,
    Label,
    PersonName,
    Span,
)
from deid_core.fiction.gender import Gender
from deid_core.fiction.name_pools import Role, name_pools
from deid_core.language.lexicons import forms_of
from deid_core.policy import Policy
from deid_core.replace import Replacer
from deid_core.surrogates.options import SurrogateOptions
from deid_core.surrogates.people import is_near
from deid_core.surrogates.real import RealValuesReader
from tests.deid_core.surrogates.surrogate_cases import KEY, KNOWN, OTHER_KEY, write

FAMILY = write(Label.PATIENT, "Quellwright")
GIVEN = write(Label.PATIENT, "Mabel")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Mabel Quellwright", "{g} {f}"),
        ("Ms. Quellwright", "Ms. {f}"),
        ("QUELLWRIGHT, MABEL", "{F}, {G}"),
        ("Quellwright^Mabel", "{f}^{g}"),
        ("mabel quellwright", "{lg} {lf}"),
        ("M. Quellwright", "{i}. {f}"),
        ("M Quellwright", "{i} {f}"),
        ("Quellwright, M.", "{f}, {i}."),
        ("M.Q.", "{i}.{j}."),
        ("MQ", "{i}{j}"),
        ("Mabel Q.", "{g} {j}."),
        ("Mable Quelwright", "{g} {f}"),
        ("Mabel Quellwright, MD", "{g} {f}, MD"),
        ("Mabel Quellwright Jr.", "{g} {f} Jr."),
        ("Mrs Mabel van Quellwright", "Mrs {g} {f}"),
        ("  Quellwright\n", "  {f}\n"),
        ("Mabel and M. Quellwright", "{g} and {i}. {f}"),
    ],
)
def test_every_form_of_a_name_is_the_same_person(text, form):
    expected = form.format(
        g=GIVEN,
        f=FAMILY,
        G=GIVEN.upper(),
        F=FAMILY.upper(),
        lg=GIVEN.lower(),
        lf=FAMILY.lower(),
        i=GIVEN[0],
        j=FAMILY[0],
    )

    assert expected == write(Label.PATIENT, text)


def test_an_apostrophe_belongs_to_the_word_and_a_hyphen_does_not():
    doctor = write(Label.DOCTOR, "O'Brien")

    assert (
        doctor == write(Label.DOCTOR, "O\u2019Brien") == write(Label.DOCTOR, "OBrien")
    )
    assert write(Label.PATIENT, "Quellwright-O'Brien") == (f"{FAMILY}-{doctor}")


def test_initials_go_with_names_without_any_record():
    def unknown(text):
        return write(Label.DOCTOR, text, known=KnownIdentifiers())

    given_name, family = unknown("Steven Kowalczyk").split()

    assert unknown("S. Kowalczyk") == (f"{given_name[0]}. {family}")
    assert unknown("S.K.") == (f"{given_name[0]}.{family[0]}.")


@pytest.mark.parametrize(
    ("name", "gender"),
    [
        ("Mary", Gender.FEMALE),
        ("Ingrid", Gender.FEMALE),
        ("Steven", Gender.MALE),
        ("Mohammed", Gender.MALE),
    ],
)
def test_a_given_name_keeps_its_gender(name, gender):
    pools = name_pools()
    written = {write(Label.PATIENT, name, patient=str(n)).lower() for n in range(30)}

    assert {pools.gender(each) for each in written} == {gender}
    assert all(map(pools.is_given, written))
    assert len(written) > 10


def genders_of(name, known, label=Label.PATIENT):
    """Return the genders of a given name's surrogates for thirty patients."""
    pools = name_pools()
    return {
        pools.gender(write(label, name, patient=str(n), known=known).split()[0].lower())
        for n in range(30)
    }


@pytest.mark.parametrize(
    ("name", "sex", "gender"),
    [
        ("Ashley", "M", Gender.MALE),
        ("Ashley", "F", Gender.FEMALE),
        ("Ashley", "", Gender.FEMALE),
        ("Andrea", "M", Gender.MALE),
        ("Steven", "F", Gender.FEMALE),
        ("Terry", "F", Gender.EITHER),
        ("Chidinma", "M", Gender.EITHER),
    ],
)
def test_the_sex_of_the_record_decides_unless_a_name_is_of_both(name, sex, gender):
    known = KnownIdentifiers(patient_names=(PersonName("Okafor", name),), sex=sex)

    assert genders_of(name, known) == {gender}
    assert genders_of(f"{name} Okafor", known) == {gender}


@pytest.mark.parametrize(
    ("title", "gender"),
    [("Mr.", Gender.MALE), ("MRS", Gender.FEMALE), ("Dr.", Gender.FEMALE)],
)
def test_the_title_of_kin_and_providers_in_the_record_decides(title, gender):
    name = PersonName("Okafor", "Ashley", prefix=title)

    for known in (
        KnownIdentifiers(kin_names=(name,), sex="M"),
        KnownIdentifiers(provider_names=(name,), sex="M"),
    ):
        assert genders_of("Ashley", known, Label.DOCTOR) == {gender}


def test_the_patients_sex_says_nothing_of_others():
    known = KnownIdentifiers(
        patient_names=(PersonName("Okafor", "Ashley"),),
        kin_names=(PersonName("Okafor", "Ingrid"),),
        sex="M",
    )

    assert genders_of("Ingrid", known) == {Gender.FEMALE}
    assert genders_of("Mary", known) == {Gender.FEMALE}


@pytest.mark.parametrize(
    ("note", "gender"),
    [
        ("Mr. «Ashley Jones»", Gender.MALE),
        ("«Mr. Ashley Jones»", Gender.MALE),
        ("Mr. «Ashley Jones». Later «Ashley»", Gender.MALE),
        ("«Ashley Jones»", Gender.FEMALE),
        ("Mr. «Jones» and «Ashley Jones»", Gender.FEMALE),
        ("Mr. «Ashley Jones», Mrs. «Ashley Smith»", Gender.FEMALE),
        ("Mrs. «Steven Jones»", Gender.FEMALE),
        ("Mr. «Terry Jones»", Gender.EITHER),
    ],
)
def test_a_title_in_the_note_decides_for_names_of_no_record(note, gender):
    pools = name_pools()
    for patient in range(20):
        written = replaced_names(note, patient=str(patient))
        [first, *_] = [
            word
            for each in written
            for word in re.findall("[a-z]{3,}", each.lower())
            if pools.is_given(word)
        ]
        assert gender is pools.gender(first), written


def replaced_names(note, patient):
    """Return the surrogates of the names of a note."""
    annotations, text = [], ""
    for at, piece in enumerate(re.split("[«»]", note)):
        if at % 2:
            span = Span(len(text), len(text) + len(piece))
            annotations.append(Annotation(span, Label.PATIENT, 1.0, "t", "name"))
        text += piece
    replacer = Replacer(Policy("t", "tag", {Label.PATIENT: "surrogate"}), KEY)
    document = Document("n1", text, patient=patient)
    return [each.surrogate for each in replacer.replacements(document, annotations)]


@pytest.mark.parametrize("name", ["Chidinma", "Terry", "Zzyzxa"])
def test_a_given_name_of_unknown_gender_becomes_one_of_both(name):
    """
    So "Mrs." and "Mr." fit on every note, whether it has them or not.
    """
    pools = name_pools()
    full = {
        write(Label.PATIENT, f"{name} Jones", patient=str(n), known=KnownIdentifiers())
        for n in range(30)
    }
    given_names = {each.split()[0].lower() for each in full}

    assert {pools.gender(each) for each in given_names} == {Gender.EITHER}
    assert all(map(pools.is_given, given_names))
    assert len(given_names) > 8


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("Chidinma Okafor", "gf"),
        ("Okafor, Chidinma", "fg"),
        ("OKAFOR, CHIDINMA ADAEZE", "fgg"),
        ("Okafor^Chidinma^Adaeze", "fgg"),
        ("Chidinma Adaeze Okafor", "ggf"),
        ("Henry James", "gf"),
        ("James Henry", "gf"),
        ("Dr. James", "f"),
        ("James", "g"),
        ("Mr. Zzyzx", "f"),
        ("Mary Ann", "gg"),
        ("Zzyzx-Okafor, Mary", "ffg"),
        ("Mary Smith, Zzyzx Jones", "gfgf"),
        ("Zzyzx Smith and Qadra Jones", "gfgf"),
        ("Zzyzx J. Qadra", "gf"),
        ("J. Zzyzx", "f"),
    ],
)
def test_a_given_name_stays_one_and_a_family_name_too(text, roles):
    """By the lists where they are sure, and where they are not by the position."""
    pools = name_pools()
    for patient in range(10):
        written = write(
            Label.PATIENT, text, patient=str(patient), known=KnownIdentifiers()
        )
        words = [w for w in re.findall(r"[a-z]{3,}", written.lower()) if w != "and"]
        shown = "".join("g" if pools.is_given(each) else "f" for each in words)
        assert roles == shown, written


def test_a_name_alone_is_what_it_is_elsewhere_in_the_note():
    note = "Zzyzx Okafor came. Zzyzx left."
    annotations = [
        Annotation(Span(*found.span()), Label.PATIENT, 1.0, "t", "name")
        for found in re.finditer(r"Zzyzx(?: Okafor)?", note)
    ]
    replacer = Replacer(Policy("t", "tag", {Label.PATIENT: "surrogate"}), KEY)
    document = Document("n1", note, patient="p1")

    full, alone = [
        each.surrogate for each in replacer.replacements(document, annotations)
    ]

    assert alone == full.split()[0]


def test_a_title_before_a_name_alone_makes_it_a_family_name():
    def alone(before):
        note = f"{before}Zzyzx"
        span = Span(len(before), len(note))
        found = [Annotation(span, Label.DOCTOR, 1.0, "t", "name")]
        replacer = Replacer(Policy("t", "tag", {Label.DOCTOR: "surrogate"}), KEY)
        [only] = replacer.replacements(Document("n1", note, patient="p1"), found)
        return only.surrogate

    assert (
        alone("Dr. ")
        == write(Label.DOCTOR, "Qadra Zzyzx", known=KnownIdentifiers()).split()[1]
    )


def test_family_names_are_no_given_names():
    pools = name_pools()

    assert not any(map(pools.is_given, pools.surnames))


def test_all_letters_have_names_of_every_gender_to_go_with_them():
    pools = name_pools()

    assert len(pools.letters[Role.GIVEN]) >= 10
    for gender, least in ((Gender.FEMALE, 12), (Gender.MALE, 12), (Gender.EITHER, 4)):
        table = pools.given[gender]
        assert all(len(table[each]) >= least for each in pools.letters[Role.GIVEN])


def test_long_names_become_long_names():
    lengths = [len(write(Label.PATIENT, "Mabel", patient=str(n))) for n in range(50)]

    assert set(lengths) == {5, 6}


def test_initials_can_be_kept():
    options = SurrogateOptions(keep_initials=True)
    policy = Policy("t", "tag", {Label.PATIENT: "surrogate"}, {}, options)
    replacer = Replacer(policy, KEY)

    for name in ("Steven Kowalczyk", "Mary Jones", "Wei Xu", "ANNA LOPEZ"):
        written = replacer.value(_document(), Label.PATIENT, name)
        letters = [word[0] for word in name.split()]
        assert written == "[NAME:PATIENT]" or letters == [w[0] for w in written.split()]
    # Nothing else could be written for initials alone.
    assert replacer.value(_document(), Label.PATIENT, "S.K.") == "[NAME:PATIENT]"


def _document(patient="p1"):
    return Document("n1", "", KnownIdentifiers(), patient)


@pytest.mark.parametrize("text", ["Sm1th", "123", "--", "Mr.", "MD", "Baby Boy", "4"])
def test_what_holds_no_name_falls_to_the_tag(text):
    assert write(Label.PATIENT, text) == "[NAME:PATIENT]"


names = st.sampled_from(
    ("Mary", "Steven", "Jones", "Kowalczyk", "Wei", "Xu", "Garcia", "Ingrid", "Olu")
)


@settings(deadline=None)
@given(st.lists(names, min_size=1, max_size=4), st.integers(0, 500))
def test_no_word_of_a_surrogate_is_real(words, patient):
    """Neither the original, nor any word of the record, nor nearly one of its names."""
    text = " ".join(words)
    known = KNOWN
    written = forms_of(write(Label.PATIENT, text, patient=str(patient)))
    real = RealValuesReader().real_in(known).words | set(forms_of(text))

    assert real.isdisjoint(written)
    for word in written:
        assert not any(is_near(word, each) for each in ("mabel", "quellwright", "ada"))


def test_a_candidate_that_is_in_the_record_is_passed_over():
    taken = KnownIdentifiers(kin_names=(PersonName(write_alone("Jones"), ""),))

    assert write_alone("Jones") != write(Label.PATIENT, "Jones", known=taken)


def write_alone(text):
    return write(Label.PATIENT, text, known=KnownIdentifiers())


@settings(deadline=None)
@given(names, st.integers(0, 1000))
def test_another_key_or_patient_gives_another_person(name, patient):
    """Not always another word, as there are thousands only; over three names always."""

    def three(**arguments):
        return [
            write(Label.PATIENT, each, known=KnownIdentifiers(), **arguments)
            for each in (name, "Kowalczyk", "Ingrid", "Okafor")
        ]

    own = three(patient=str(patient))
    assert own == three(patient=str(patient))
    assert own != three(patient=str(patient), key=OTHER_KEY)
    assert own != three(patient=f"{patient}a")
