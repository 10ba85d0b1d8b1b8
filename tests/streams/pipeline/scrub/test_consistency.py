"""One patient's surrogates are the same in fields and texts, HL7 and JSON, and fit."""

from __future__ import annotations

from functools import cache

import pytest

from deid_core import Deidentifier
from streams.demo.ward import Ward
from tests.benchmarks.consistency import KEY, KINDS, Figures, figures

LEAST_IN_BOTH = {"country": 0}
"""The ward's notes name no country."""


@cache
def deidentifier():
    return Deidentifier.from_names("hybrid", "surrogate", key=KEY)


@pytest.fixture(scope="module", params=[18, 19])
def ward(request):
    return Ward(seed=request.param, patients=40)


def test_all_values_of_fields_are_those_of_the_texts(ward):
    found = figures(deidentifier(), ward, 400, all_known=True)

    assert not found.refused
    for kind in KINDS:
        in_both = sum(each.is_in_both for each in found.of(kind))
        assert in_both >= LEAST_IN_BOTH.get(kind, 20), kind
        assert not found.differing(kind), kind
    assert len(found.addresses) > 200
    assert not found.misfits()
    assert len(found.given_names) > 200
    assert not found.of_other_sex()


def test_a_value_changes_only_where_the_record_came_to_hold_its_surrogate(ward):
    """Names and states are drawn anew then; numbers, towns and days never were."""
    found = figures(deidentifier(), ward, 400)

    assert found.differing() <= 2
    for kind in ("MRN", "ZIP", "days that dates move"):
        assert not found.differing(kind)
    assert not found.misfits()


def test_a_second_surrogate_would_be_counted():
    found = Figures()
    found.add("p1", "town", "Springfield", "Dover", text=False)
    found.add("p1", "town", "SPRINGFIELD", "DOVER", text=True)
    assert not found.differing("town")

    found.add("p1", "town", "Springfield", "Salem", text=True)
    found.addresses.append(("Dover", "DE", "62704", "USA"))
    found.given_names += [("M", "Mary"), ("F", "Mary"), ("M", "Terry")]

    assert found.of_other_sex() == 1
    assert found.differing("town") == 1
    assert found.misfits() == 1
