"""Every step of the pipeline takes time linear in the note, whatever the note holds.

Times of one run are compared with one another, step by step, so that a step that grows
quadratically shows beside slower ones that do not.  All texts, up to 10 MB:
``python -m tests.benchmarks.adversarial``.
"""

from functools import cache

import pytest

from deid_core import Deidentifier, Document, ScrubbedDocument
from tests.benchmarks.adversarial import KEY, KNOWN, by_step
from tests.benchmarks.adversarial_texts import TEXTS

SIZE, FACTOR = 5_000, 12
# What is measured swings on a busy machine; quadratic time would be a factor of 12.
GENEROUS = 4
SHORTEST = 0.003
ATTEMPTS = 4

HOSTILE = ["prose in one line", "names", "record numbers", "days in one line"]
MORE_HOSTILE = [
    "names in a list in one line",
    "phone numbers in one line",
    "hospitals by name in one line",
    "months and days",
    "digits",
    "dotted capitals behind prose",
    "nested",
    "spaces",
    "long stars",
    "mixed words",
]


@cache
def system():
    return Deidentifier.from_names("hybrid", "surrogate", KEY)


def grows(name):
    """Return the steps that grow more than linearly, as far as one run can tell."""
    small, large = (
        by_step(system(), Document("d", TEXTS[name](size), KNOWN))
        for size in (SIZE, FACTOR * SIZE)
    )
    return {
        step
        for step, seconds in large.items()
        if seconds > GENEROUS * FACTOR * max(small[step], SHORTEST)
    }


@pytest.mark.parametrize(
    "name",
    [
        HOSTILE[0],
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in (*HOSTILE[1:], *MORE_HOSTILE)
        ),
    ],
)
def test_no_step_grows_more_than_linearly(name):
    found = grows(name)
    for _ in range(ATTEMPTS):
        # What really grows does so each time.
        found = found and found & grows(name)

    assert not found


def test_a_list_of_names_is_scrubbed_whole():
    text = TEXTS["names"](20_000)
    result = system().deidentify(Document("d", text, KNOWN))

    assert isinstance(result, ScrubbedDocument)
    assert len(result.annotations) > 400


def test_a_number_of_very_many_parts_is_written_as_its_tag():
    text = "MRN: " + "7-" * 3_000 + "7 was seen."
    result = system().deidentify(Document("d", text))

    assert "7-7" not in result.text


def test_a_date_of_very_many_parts_is_written_as_its_tag():
    text = "Seen on " + "May 5-" * 500 + "May 6."
    result = system().deidentify(Document("d", text))

    assert "[DATE]" in result.text
    assert len(result.text) < 100
