"""The privacy office of the tests: opens dead letters."""

from __future__ import annotations

import base64

import orjson
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from streams.engine.keys.office import OfficePrivateKey
from streams.engine.records import Partition, Record
from streams.model.letters import Letter

PRIVATE = OfficePrivateKey(X25519PrivateKey.from_private_bytes(b"o" * 32))
OFFICE = PRIVATE.public


def private_file(settings):
    """Return the private key's file for the settings of `settings_for`."""
    return settings.dead_letter_key_file.parent / "office/office.key"


def private_key(settings):
    return OfficePrivateKey.read(private_file(settings), "test")


def letter_of(value, place=("dead.letters", 0, 0)):
    topic, partition, offset = place
    return Letter.decode(Record(Partition(topic, partition), offset, None, value))


def original_of(body, private=PRIVATE):
    """Return the original record of a dead letter's value."""
    value = body if isinstance(body, bytes) else orjson.dumps(body)
    return letter_of(value).original({private.public.id: private})


def in_base64(value: bytes) -> list[bytes]:
    """Return the letters that `value` alone decides, at each of the three shifts."""
    return [
        base64.b64encode(bytes(n) + value)[(8 * n + 5) // 6 : 8 * (n + len(value)) // 6]
        for n in range(3)
    ]
