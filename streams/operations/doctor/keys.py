"""Checks of the pseudonym key: long, random, private, and the one in use."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from confluent_kafka import Message

from streams.engine.errors import ConfigError
from streams.engine.keys.office import MAKE
from streams.kafka.client import value_of
from streams.kafka.topics import NOTES_SCRUBBED
from streams.pipeline.publish import Pseudonyms

from .context import CheckContext
from .finding import Finding, fail, ok, warn
from .values import newest

MIN_DISTINCT = 10
"""Different bytes of a key; 32 random hex digits have fewer once in some 10,000."""


def key(context: CheckContext) -> Iterator[Finding]:
    """Check the key and its file."""
    settings = context.settings
    try:
        ring = settings.key_ring()
    except ConfigError as error:
        yield fail(str(error), "run: phistream key FILE, and set pseudonym_key_file")
        return
    for each in ring:
        yield from judge_secret(each.value)
    file = settings.pseudonym_key_file
    if file is not None:
        yield from judge_file(file.expanduser().stat(), file, os.geteuid())


def office_key(context: CheckContext) -> Iterator[Finding]:
    """Check the public key of the privacy office, and that its private key is away."""
    settings = context.settings
    try:
        key = settings.office_key()
    except ConfigError as error:
        yield fail(str(error), f"run: {MAKE}, and set dead_letter_key_file")
        return
    yield ok(f"dead letters are sealed for key {key.id}")
    file = settings.dead_letter_key_file
    beside = file.expanduser().with_suffix("") if file is not None else None
    if beside is not None and beside != file and beside.is_file():
        yield warn(
            f"{beside} lies beside it: perhaps the private key",
            "move it to a host of the privacy office, where no worker runs",
        )


def judge_secret(secret: bytes) -> Iterator[Finding]:
    """Check that a key looks random; the key itself is not shown."""
    if len(set(secret)) < MIN_DISTINCT:
        yield fail("the key repeats a few characters", "create one: phistream key FILE")
        return
    yield ok(f"{len(secret)} bytes, key_id {Pseudonyms(secret).key_id}")


def judge_file(found: os.stat_result, file: Path, user: int) -> Iterator[Finding]:
    """Check a key's file further; what others can read or change is refused before."""
    mode = stat.S_IMODE(found.st_mode)
    only_owner = f"chmod 600 {file} (Kubernetes: defaultMode 0400 of the secret)"
    if mode & stat.S_IRGRP:
        yield warn(f"its group can read it: mode {mode:04o}", only_owner)
    elif found.st_uid not in (user, 0):
        yield warn("it belongs to another user", "make the service's user its owner")
    else:
        yield ok(f"private: mode {mode:04o}")


def key_in_use(context: CheckContext) -> Iterator[Finding]:
    """Compare the key with that of the newest scrubbed notes."""
    if context.partitions(NOTES_SCRUBBED.name):
        own = [each.id for each in context.settings.key_ring()]
        yield judge_key_id(own, key_ids(newest(context, NOTES_SCRUBBED)))


def key_ids(messages: list[Message]) -> set[str]:
    """Return the ids of the keys in scrubbed notes."""
    return {str(value["key_id"]) for value in map(_json, messages) if "key_id" in value}


def _json(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(value_of(message) or b"{}")
    return found


def judge_key_id(own: Sequence[str], used: set[str]) -> Finding:
    """Check that pseudonyms stay the same, or change as the settings say."""
    shown = ", ".join(own)
    if not used:
        return ok("no scrubbed notes yet")
    if used <= {*own}:
        return ok(f"the newest scrubbed notes have key_id {', '.join(sorted(used))}")
    return warn(
        f"the newest scrubbed notes have key_id {', '.join(sorted(used))}, this key "
        f"has {shown}: a patient's old and new notes would not be linked",
        "set the former key's file; to change a key, run: phistream keys rotate",
    )
