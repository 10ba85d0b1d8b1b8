"""Notes of which words once fell that identify nobody, or under another's name."""

import pytest

from deid_core import Deidentifier, Document


@pytest.fixture(scope="module")
def system():
    return Deidentifier.from_names()


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("72M hx a-fib on warf. No falls.", "72M hx a-fib on warf. No falls."),
        ("State: Vermont.", "State: Vermont."),
        (
            "Mercy General Hospital, Sacramento, CA 95816",
            "[LOCATION:HOSPITAL], [LOCATION:CITY], CA 958",
        ),
        (
            "Seen at St. Luke's Hospital on 03/14/2024. Admitted to St. Luke's today.",
            "Seen at [LOCATION:HOSPITAL] on [DATE]. Admitted to [LOCATION:HOSPITAL] "
            "today.",
        ),
        ("Ordering: HALVORSEN, INGRID MD", "Ordering: [NAME:DOCTOR] MD"),
        (
            "Her husband Emeka (94) died of a stroke.",
            "Her husband [NAME:PATIENT] (90+) died of a stroke.",
        ),
        pytest.param(
            "FINDINGS:\nAlignment is preserved.",
            "FINDINGS:\nAlignment is preserved.",
            marks=pytest.mark.xfail(
                strict=True, reason="in a note of two lines the tagger sees a name"
            ),
        ),
    ],
)
def test_only_what_identifies_goes_and_under_its_own_name(system, text, scrubbed):
    assert scrubbed == system.deidentify(Document("1", text)).text


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("Dr. Call saw him.", "Dr. [NAME:DOCTOR] saw him."),
        ("Mrs. State came.", "Mrs. [NAME:PATIENT] came."),
        ("Patient: Vermont, John", "Patient: [NAME:PATIENT]"),
        ("Dr. Warf is aware.", "Dr. [NAME:DOCTOR] is aware."),
        ("State: Virginia Miller", "State: [NAME:DOCTOR]"),
    ],
)
def test_who_bears_such_a_word_as_a_name_is_found(system, text, scrubbed):
    assert scrubbed == system.deidentify(Document("1", text)).text
