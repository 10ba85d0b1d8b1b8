from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.detectors.rules.ids.unlabelled import SSN
from deid_core.labels import Label
from tests.deid_core.rules.rule_examples import labels_of, spans_of

LABELLED = [
    ("MRN", Label.MEDICALRECORD),
    ("medical record", Label.MEDICALRECORD),
    ("patient id", Label.MEDICALRECORD),
    ("account", Label.ACCOUNT),
    ("acct", Label.ACCOUNT),
    ("health plan id", Label.HEALTHPLAN),
    ("member id", Label.HEALTHPLAN),
    ("policy", Label.HEALTHPLAN),
    ("license", Label.LICENSE),
    ("NPI", Label.LICENSE),
    ("accession", Label.IDNUM),
    ("specimen", Label.IDNUM),
    ("encounter", Label.IDNUM),
    ("visit", Label.IDNUM),
    ("case", Label.IDNUM),
    ("serial", Label.DEVICE),
    ("device", Label.DEVICE),
    ("license plate", Label.VEHICLE),
]
SEPARATORS = (
    ": ",
    " #",
    "# ",
    " no. ",
    " number ",
    " number: ",
    " = ",
    "#: ",
    " No.: ",
)


def test_finds_the_value_after_every_label(subtests):
    """
    The label's words stay; the value alone is annotated.
    """
    changes = (str.lower, str.upper, str.title)
    for (words, label), separator, change in product(LABELLED, SEPARATORS, changes):
        text = f"Note. {change(words + separator)}AB-88412, seen."
        with subtests.test(example=text):
            assert label in labels_of(text, "AB-88412")


@pytest.mark.parametrize(("words", "label"), LABELLED)
def test_a_value_without_digits_is_none(words, label):
    assert label not in labels_of(f"{words}: pending, seen.", "pending")


@given(area=st.integers(0, 999), group=st.integers(0, 99), serial=st.integers(0, 9999))
def test_a_number_with_dashes_is_an_ssn_if_it_could_be_issued(area, group, serial):
    """
    The oracle is the SSA's sentence in numbers instead of text.
    """
    could_be_issued = 0 < area < 900 and area != 666 and group > 0 and serial > 0
    text = f"on {area:03}-{group:02}-{serial:04}."

    assert ([(3, 14)] if could_be_issued else []) == spans_of((SSN,), text)


@given(st.from_regex("[0-9]{9}", fullmatch=True))
def test_nine_digits_are_an_ssn_if_called_so(digits):
    assert Label.SSN in labels_of(f"SSN: {digits}.", digits)
    assert Label.SSN not in labels_of(f"code {digits}.", digits)
