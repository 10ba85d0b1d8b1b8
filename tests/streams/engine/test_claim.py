"""What owners of a partition tell one another in the metadata of its offset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.claim import DEATHS_OF_POISON, Claim

HELD = Claim(is_held=True)


@given(
    st.builds(
        Claim,
        is_held=st.booleans(),
        suspects=st.integers(0, 10**6),
        record=st.integers(0, 10**15),
        is_in_hand=st.booleans(),
        deaths=st.integers(0, 9),
        again=st.integers(0, 10**15),
        # Of librdkafka's ids, in base64.
        of=st.text("azAZ09+/_.-", max_size=60),
        by=st.text("az09-", max_size=40),
    )
)
def test_a_claim_is_read_back_as_it_was_written(claim):
    assert claim == Claim.read(str(claim))


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        "",
        "attempt=1",
        "phistream/1 held x",
        "phistream/2 held",
        "phistream/1 held since=1 suspects=5",
        "phistream/1 held suspects=x",
    ],
)
def test_what_another_wrote_says_that_nobody_was_here(metadata):
    assert Claim() == Claim.read(metadata)


def test_what_a_later_version_adds_does_not_hide_the_rest():
    claim = Claim(is_held=True, suspects=3, record=7, again=9, of="a.b", by="p-1")

    assert claim == Claim.read(f"{claim} since=2026 why=C/7")


def test_who_left_in_order_is_named_no_more():
    """A partition that was released in order accuses no process."""
    claim = Claim(is_held=True, suspects=3, again=9, of="a.b", by="p-1")

    assert str(claim.released()) == "phistream/1 released suspects=3 again=9 of=a.b"


def test_who_follows_an_owner_that_left_in_order_suspects_nothing():
    assert HELD.released().taken_over(500) == HELD
    assert Claim().taken_over(500) == HELD


def test_who_follows_a_dead_owner_suspects_a_batch():
    assert Claim(is_held=True, suspects=500) == HELD.taken_over(500)


def test_suspects_stay_suspects_when_their_owner_leaves_in_order():
    claim = HELD.taken_over(500).taking(7)

    assert claim.released().taken_over(500).suspects == 500
    assert not claim.released().taken_over(500).deaths


def test_a_record_that_two_owners_died_with_in_hand_is_poison():
    claim = HELD.taken_over(500)
    for _ in range(DEATHS_OF_POISON):
        assert not claim.is_poison(7)
        claim = claim.taking(7).taken_over(500)

    assert claim.is_poison(7)
    assert not claim.is_poison(8)


def test_deaths_with_different_records_in_hand_do_not_add_up():
    claim = HELD.taken_over(500)
    for offset in range(20):
        claim = claim.taking(offset).taken_over(500)
        assert not claim.is_poison(offset)
        claim = claim.taking(offset).passed()


def test_a_death_with_nothing_in_hand_is_another_partitions_doing():
    claim = HELD.taken_over(500).taking(7).taken_over(500)

    assert claim == claim.taken_over(500)


def test_as_many_suspects_pass_as_a_batch_holds():
    claim = HELD.taken_over(3)
    for offset in range(3):
        assert claim.is_quarantine
        claim = claim.taking(offset).passed()

    assert claim == HELD


def test_each_owner_learns_what_is_read_again_and_of_which_topics():
    claim = Claim(again=9, of="a.b").taken_over(500)
    for each in (
        claim.taken_over(500),
        claim.taken_over(500).taking(3).passed(),
        claim.taking(3).taken_over(500).put_down(),
        claim.suspecting(7).released(),
    ):
        assert (each.again, each.of) == (9, "a.b")
    assert claim.read_up_to(8).again == 9
    assert Claim(is_held=True, of="a.b") == claim.read_up_to(9)


@pytest.mark.parametrize(
    "claim",
    [
        Claim(is_held=True, by="a1-7"),
        Claim(is_held=True, suspects=9, record=3, is_in_hand=True, deaths=1, by="a1-7"),
    ],
)
def test_a_process_that_no_record_has_ended_casts_no_suspicion(claim):
    assert claim == Claim.read(str(claim))
    assert claim.put_down() == claim.taken_over(500, {"a1-7", "a1-8"})
    assert not claim.is_suspicious({"a1-7"})
    for excused in ({"a1-6"}, {""}, ()):
        assert claim.is_suspicious(excused)
        assert claim.taken_over(500) == claim.taken_over(500, excused)


def test_a_process_without_a_name_is_never_excused():
    assert HELD.is_suspicious({""})
