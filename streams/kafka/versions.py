"""Versions of the topics that subscribers read: `notes.scrubbed.v2` and so on.

The live feed writes `notes.scrubbed`, `hl7.scrubbed` and `phi.audit`.  Each run of
`phistream rescrub` writes topics of its own next to them, named by a version.
"""

from __future__ import annotations

import re

LIVE = "v1"
"""The version of the live feed, whose topics have none in their names."""
VERSION = re.compile(r"v[1-9][0-9]{0,5}")
_OF_VERSION = re.compile(r"\.v[1-9][0-9]{0,5}$")


def live_name(topic: str) -> str:
    """Return the name of a topic without its version."""
    return _OF_VERSION.sub("", topic)
