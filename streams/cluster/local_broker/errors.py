"""What can go wrong with the broker that phistream starts itself."""

from __future__ import annotations

from streams.engine.errors import FatalError


class BrokerError(FatalError):
    """The broker could not be set up, started or stopped; says what to do next."""
