"""Waiting that ends early when it is time to stop."""

from __future__ import annotations

import asyncio


async def pause(until: asyncio.Event, seconds: float) -> None:
    """Return after some seconds, or as soon as the event is set."""
    try:
        await asyncio.wait_for(until.wait(), seconds)
    except TimeoutError:
        return
