"""Intervals and significance: seeded, by document, and right on cases known."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.research.scoring.measures import Measure, counts, difference, intervals


def measure(part, whole, **options):
    return Measure("recall", counts(part), counts(whole), **options)


def test_a_measure_is_a_share_of_sums():
    assert measure([1, 2, 0], [2, 2, 2]).value == 0.5
    assert measure([1], [4], scale=1000).value == 250
    assert measure([0], [0]).value is None


def test_a_measure_by_document_is_the_mean_share_of_documents_that_have_one():
    assert measure([1, 1, 0], [1, 2, 0], by_document=True).value == 0.75


def test_a_measure_of_classes_is_the_mean_share_of_classes_that_there_are():
    part, whole = np.array([[1, 0, 0], [1, 1, 0]]), np.array([[2, 1, 0], [2, 1, 0]])

    assert Measure("macro", part, whole).value == 0.5


def test_weights_choose_documents():
    weights = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])

    assert measure([1, 2], [1, 4]).values(weights).tolist() == [1.0, 0.5, 0.6]


def test_an_interval_holds_the_value_and_narrows_with_more_documents():
    few, many = measure([1, 0] * 10, [1] * 20), measure([1, 0] * 200, [1] * 400)

    [wide] = intervals([few], seed=1)
    [narrow] = intervals([many], seed=1)

    assert wide.low < 0.5 < wide.high
    assert wide.low < narrow.low < 0.5 < narrow.high < wide.high
    # The normal interval of a share of 400: 0.5 +- 0.049.
    assert pytest.approx((narrow.low, narrow.high), abs=0.01) == (0.451, 0.549)


def test_the_same_seed_gives_the_same_interval_and_another_another():
    one = measure(range(1, 41), [n * n for n in range(1, 41)])

    assert intervals([one], seed=1) == intervals([one], seed=1)
    assert intervals([one], seed=1) != intervals([one], seed=2)


def test_what_has_no_value_has_no_interval():
    assert intervals([measure([0, 0], [0, 0])], seed=1) == [None]
    assert intervals([], seed=1) == []


def test_p_is_that_of_all_exchanges():
    # Of 8 documents one system is right in all, the other in none: of the 256 ways to
    # exchange them, only the two extremes differ as much.
    one, other = measure([1] * 8, [1] * 8), measure([0] * 8, [1] * 8)

    found = difference(one, other, seed=3, shuffles=20_000)

    assert (found.one, found.other) == (1, 0)
    assert pytest.approx(2 / 256, abs=0.002) == found.p


def test_p_counts_exchanges_that_are_as_large():
    # 6 documents differ for one system, 2 for the other: |sum of 8 signs| >= 4.
    one = measure([1] * 6 + [0] * 2, [1] * 8)
    other = measure([0] * 6 + [1] * 2, [1] * 8)
    as_large = sum(comb(8, k) for k in range(9) if abs(2 * k - 8) >= 4) / 2**8

    found = difference(one, other, seed=3, shuffles=20_000)

    assert pytest.approx(as_large, abs=0.01) == found.p


def test_equal_systems_do_not_differ():
    one = measure([1, 0, 1], [1, 1, 1])

    assert difference(one, one, seed=1, shuffles=500).p == 1


def test_the_order_of_two_systems_does_not_matter():
    one, other = (
        measure([1, 1, 1, 0], [2, 1, 1, 1]),
        measure([0, 1, 0, 1], [1, 1, 1, 1]),
    )

    there = difference(one, other, seed=1, shuffles=1000)
    back = difference(other, one, seed=1, shuffles=1000)

    assert there.p == back.p


def test_different_measures_are_not_compared():
    with pytest.raises(ValueError, match="not comparable"):
        difference(measure([1], [1]), measure([1, 1], [1, 1]), seed=1)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20)
)
def test_an_interval_lies_within_what_single_documents_have(pairs):
    part, whole = zip(*((min(p), max(p)) for p in pairs), strict=True)
    shares = [a / b for a, b in zip(part, whole, strict=True) if b]

    [found] = intervals([measure(part, whole)], seed=1, draws=50)

    if shares and found is not None:
        assert min(shares) - 1e-9 <= found.low <= found.high <= max(shares) + 1e-9
