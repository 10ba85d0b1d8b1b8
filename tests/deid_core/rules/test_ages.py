import pytest

from deid_core.labels import Label
from tests.deid_core.rules.rule_examples import labels_of

FORMS = (
    "A {}-year-old man",
    "{} year old",
    "{} y/o F",
    "{}yo male",
    "{} yrs old",
    "{} y.o. woman",
    "{} years of age",
    "aged {}",
    "Age: {}",
    "at the age of {}",
    "Pt is a {} F with cough",
    "{}M presents with fall",
    "mother died at {}",
    "{} female",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("age", [90, 92, 99, 100, 107, 119])
def test_an_age_over_89_is_found(form, age):
    assert {Label.AGE} == labels_of(form.format(age), str(age))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("age", [1, 9, 10, 45, 89])
def test_an_age_of_89_or_less_stays(form, age):
    """
    45 CFR 164.514(b)(2)(i)(C) asks only for ages over 89.
    """
    assert set() == labels_of(form.format(age), str(age))


@pytest.mark.parametrize(
    "text",
    ["Temp 98 F", "HR 92", "SpO2 95 %", "weight 91 kg", "BP 120/90", "lasix 100 mg"],
)
def test_a_measurement_over_89_stays(text):
    number = next(part for part in text.replace("/", " ").split() if part.isdigit())

    assert set() == labels_of(text, number)
