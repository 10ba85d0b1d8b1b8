import gc

import pytest

from streams.engine import gc_tuning


@pytest.fixture
def as_before():
    thresholds = gc.get_threshold()
    yield thresholds
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_what_is_loaded_is_left_out_and_what_is_new_is_looked_at_less_often(as_before):
    frozen = gc.get_freeze_count()

    gc_tuning.settle()

    assert gc.get_freeze_count() > frozen
    assert gc.get_threshold()[0] > as_before[0]
    assert gc.get_threshold()[1:] == as_before[1:]
