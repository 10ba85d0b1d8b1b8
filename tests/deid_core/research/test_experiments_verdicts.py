"""By which rule a finding holds."""

import numpy as np
import pytest

from deid_core.research.experiments.harness.figures import (
    is_greater,
    is_greatest,
    is_least,
)
from deid_core.research.scoring.measures import Measure

DOCUMENTS = 20


def recall(*found_of_ten):
    """Return a recall of 20 documents of ten each, the found ones in turn."""
    part = np.resize(np.array(found_of_ten), DOCUMENTS)[:, np.newaxis]
    return Measure("recall", part, np.full((DOCUMENTS, 1), 10), scale=100.0)


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        (recall(9), recall(5), True),
        (recall(5), recall(9), False),
        (recall(7), recall(7), None),
        # Now more, now less: chance explains it.
        (recall(9, 5), recall(5, 8), None),
    ],
)
def test_a_figure_is_greater_only_by_more_than_chance(one, other, holds):
    verdict = is_greater(one, other, seed=1)

    assert verdict.holds is holds
    assert f"{one.value:.2f} and {other.value:.2f}, p " in verdict.figures


def test_without_a_figure_nothing_can_be_told():
    empty = Measure("recall", np.zeros((3, 1)), np.zeros((3, 1)), scale=100.0)

    assert is_greater(empty, empty, seed=1).holds is None


def test_the_greatest_and_the_least_are_told_against_the_next():
    found = {"low": recall(2), "middle": recall(5), "high": recall(9)}

    assert is_greatest("high", found, seed=1).holds is True
    assert is_greatest("middle", found, seed=1).holds is False
    assert is_least("low", found, seed=1).holds is True
    assert is_least("middle", found, seed=1).holds is False
    assert "low and middle: 20.00 and 50.00" in is_least("low", found, seed=1).figures


def test_a_tie_with_the_next_is_neither():
    found = {"one": recall(9), "other": recall(9), "low": recall(1)}

    assert is_greatest("one", found, seed=1).holds is None
