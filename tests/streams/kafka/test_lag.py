"""The judgement of a partition's lag, by a hand-made clock."""

from __future__ import annotations

import pytest

from streams.kafka.lag import INTERVALS, History, LagInterval, LagState, judge

WINDOW = 100.0


def observed(*pairs, window=WINDOW, every=None):
    """Return the window after (committed, records) pairs, one an interval."""
    history = History(window)
    for number, (committed, records) in enumerate(pairs):
        history.add(number * (every or window / INTERVALS), committed, records)
    return history.window()


def state(*pairs, group_moves=False, **options):
    return judge(observed(*pairs, **options), group_moves=group_moves)


def test_nothing_is_judged_before_a_whole_window_is_seen():
    assert state(*[(5, 9)] * INTERVALS) == LagState.OK
    assert state(*[(5, 9)] * (INTERVALS + 1)) == LagState.STOP


def test_a_partition_without_lag_is_fine_however_long_it_stands_still():
    assert state(*[(5, 0)] * 30) == LagState.OK


def test_one_moment_without_lag_in_the_window_is_enough():
    """Burrow's first rule: whoever was up to date a moment ago is not in trouble."""
    assert state(*[(5, 9)] * 5, (14, 0), *[(14, 7)] * 5) == LagState.OK


def test_committing_nothing_with_lag_is_a_stop():
    assert state(*[(5, 3 + n) for n in range(20)]) == LagState.STOP


def test_standing_still_while_the_group_commits_elsewhere_is_a_stall():
    assert state(*[(5, 3)] * 20, group_moves=True) == LagState.STALL


def test_lag_that_grows_over_the_whole_window_is_a_warning():
    assert state(*[(n, 10 + n) for n in range(20)], group_moves=True) == LagState.WARN


@pytest.mark.parametrize(
    "records",
    [
        [50 - n for n in range(20)],
        [50] * 20,
        [*range(10, 25), 9, *range(25, 30)],
    ],
    ids=["shrinks", "stays", "shrinks once"],
)
def test_lag_that_does_not_grow_all_the_time_is_fine(records):
    pairs = list(enumerate(records))

    assert state(*pairs, group_moves=True) == LagState.OK


def test_the_saw_of_batches_hides_neither_growth_nor_recovery():
    """Looked at each second, lag rises between two commits and falls with each."""

    def looked_at(growth):
        for second in range(120):
            batches = second // 4
            yield batches * 400, 1000 + growth * batches + 100 * (second % 4)

    assert state(*looked_at(5), every=1.0) == LagState.WARN
    assert state(*looked_at(-5), every=1.0) == LagState.OK


def test_only_the_last_window_counts():
    moved = [(n, 9) for n in range(10)]

    assert state(*moved, *[(9, 9)] * (INTERVALS + 1)) == LagState.STOP


def test_an_operators_rewind_is_no_stop():
    assert state(*[(50, 10)] * 10, *[(20, 40)] * 5, group_moves=True) == LagState.WARN


def test_observations_of_one_interval_become_one():
    history = History(WINDOW)
    for second in range(101):
        history.add(float(second), second, 7 if second == 43 else 20)

    window = history.window()

    assert len(window) == INTERVALS + 1
    assert [each.records for each in window if each.at == 49.0] == [7]
    assert LagInterval(100.0, 100, 20) == window[-1]
