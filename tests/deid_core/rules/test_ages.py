import re

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
    assert labels_of(form.format(age), str(age)) == {Label.AGE}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("age", [1, 9, 10, 45, 89])
def test_an_age_of_89_or_less_stays(form, age):
    """
    45 CFR 164.514(b)(2)(i)(C) asks only for ages over 89.
    """
    assert labels_of(form.format(age), str(age)) == set()


@pytest.mark.parametrize(
    "text",
    ["Temp 98 F", "HR 92", "SpO2 95 %", "weight 91 kg", "BP 120/90", "lasix 100 mg"],
)
def test_a_measurement_over_89_stays(text):
    number = next(part for part in text.replace("/", " ").split() if part.isdigit())

    assert labels_of(text, number) == set()


@pytest.mark.parametrize("age", [90, 93, 101])
@pytest.mark.parametrize(
    "form",
    [
        *("Florence Okonedo, {}, retired", "> Lolo Isko, {}: Losartan", "Ada Roe ({})"),
        *("Concepta Mulqueen, {} F. HD6", "Blenkinsop, Dorothea  {}F  NHS 999"),
        *("Okonedo, Edna {}F | UTI", "lives with kin (sister, {})", "seen M/{}, frail"),
        *("Old Duut | abt {} | same", "his {}-year-old mother", "{}yF with fall"),
    ],
)
def test_the_age_of_a_person_in_a_list_is_found(form, age):
    assert Label.AGE in labels_of(form.format(age), str(age))


@pytest.mark.parametrize(
    "text",
    [
        *("Heart Rate, 92, regular", "Oxygen Saturation (95)", "Pulse Ox, 97, on air"),
        *("Oral Temp, 99 F.", "P/F 94, PEEP 8", "Ada Roe, 95 kg", "| 95 | 92 |"),
        *("he is ninety percent better", "she is 92% on air", "abt 95 mg"),
    ],
)
def test_a_reading_is_no_age(text):
    assert Label.AGE not in {
        label
        for value in re.findall(r"[0-9]+|ninety", text)
        for label in labels_of(text, value)
    }
