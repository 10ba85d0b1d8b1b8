from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.products.mllp.frames import (
    END,
    START,
    Closed,
    ConnectionEnd,
    ConnectionLimits,
    FrameReader,
)

contents = st.binary(max_size=40).filter(
    lambda each: END not in each + END[:1] and not each.endswith(END[:1])
)
garbage = st.binary(max_size=5).map(lambda each: each.replace(START, b"\r"))
MAX_BYTES = 20


async def frames_of(pieces, max_bytes):
    """Return the content of each frame, None for one too large, and why they end."""
    loop, found = asyncio.get_running_loop(), []
    stream = asyncio.StreamReader()
    slots = asyncio.Semaphore(1)
    reader = FrameReader(stream, ConnectionLimits(max_bytes, 9, 9), slots, loop.time)

    async def feed():
        for each in pieces:
            stream.feed_data(each)
            await asyncio.sleep(0)
        stream.feed_eof()

    feeding = asyncio.create_task(feed())
    while True:
        try:
            frame = await reader.next()
        except ConnectionEnd as end:
            await feeding
            assert not slots.locked()
            return found, end.reason
        with frame.slot:
            found.append(frame.content if frame.is_whole else None)


@given(
    st.lists(st.tuples(garbage, contents), max_size=5),
    st.lists(st.integers(0, 300), max_size=12),
)
def test_frames_are_the_same_in_whatever_pieces_they_come(sent, cuts):
    data = b"".join(before + START + each + END for before, each in sent)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in pairwise(places)]

    found, reason = asyncio.run(frames_of(pieces, MAX_BYTES))

    wanted = [each if len(each) <= MAX_BYTES else None for _, each in sent]
    assert wanted == found
    assert Closed.BY_SENDER is reason


@given(st.binary(max_size=300))
def test_any_bytes_end_in_frames_and_a_reason(data):
    found, reason = asyncio.run(frames_of([data[:7], data[7:]], MAX_BYTES))

    assert all(each is None or len(each) <= MAX_BYTES for each in found)
    assert reason in (Closed.BY_SENDER, Closed.BROKEN_OFF)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Closed.BY_SENDER),
        (b"x", Closed.BY_SENDER),
        (START, Closed.BROKEN_OFF),
        (START + b"x" * 100, Closed.BROKEN_OFF),
        (START + b"x" + END[:1], Closed.BROKEN_OFF),
    ],
)
def test_the_end_within_a_frame_is_another_one_than_between_frames(data, reason):
    assert reason is asyncio.run(frames_of([data], MAX_BYTES))[1]
