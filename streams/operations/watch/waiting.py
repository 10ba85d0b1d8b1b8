"""A pause that ends early when it is time to stop."""

from __future__ import annotations

import asyncio
from contextlib import suppress


async def wait(until: asyncio.Event, seconds: float) -> None:
    """Return after some seconds, or as soon as the event is set."""
    with suppress(TimeoutError):
        await asyncio.wait_for(until.wait(), seconds)
