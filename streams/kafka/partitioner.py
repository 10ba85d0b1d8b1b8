"""The partition of a key: murmur2, as Kafka's Java clients compute it.

librdkafka computes the same with ``partitioner=murmur2_random``.  This module only
checks that records are in the partition where the join looks for them.  Source:
org.apache.kafka.common.utils.Utils.murmur2, Apache Kafka 4.3.
"""

from __future__ import annotations

MASK = 0xFFFFFFFF
FACTOR = 0x5BD1E995
SEED = 0x9747B28C


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key among ``partitions``."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(key: bytes) -> int:
    """Return the unsigned 32-bit murmur2 hash of a key."""
    value = (SEED ^ len(key)) & MASK
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        part = int.from_bytes(key[at : at + 4], "little") * FACTOR & MASK
        part ^= part >> 24
        value = (value * FACTOR & MASK) ^ (part * FACTOR & MASK)
    if len(key) > whole:
        value ^= int.from_bytes(key[whole:], "little")
        value = value * FACTOR & MASK
    value ^= value >> 13
    value = value * FACTOR & MASK
    return value ^ (value >> 15)
