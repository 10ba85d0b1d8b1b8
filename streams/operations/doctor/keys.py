"""The pseudonyms' key: there, long, random, private, and the one in use."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import orjson
from confluent_kafka import Message

from streams.cluster.topics import NOTES_SCRUBBED
from streams.engine.errors import ConfigError
from streams.scrub.outputs import Pseudonyms

from .context import CheckContext
from .finding import Finding, fail, ok, warn
from .values import newest

LEAST_DISTINCT = 10
"""Bytes of a key; 32 random hexadecimal digits show fewer once in some 10,000."""


def key(context: CheckContext) -> Iterator[Finding]:
    """Look at the key's file."""
    try:
        secret = context.settings.pseudonym_key()
    except ConfigError as error:
        yield fail(str(error), "phistream key FILE, then name it: pseudonym_key_file")
        return
    yield from judge_secret(secret)
    file = context.settings.pseudonym_key_file
    if file is not None:
        yield from judge_file(file.expanduser().stat(), file, os.geteuid())


def judge_secret(secret: bytes) -> Iterator[Finding]:
    """Return whether a key looks random; what it is, is not said."""
    if len(set(secret)) < LEAST_DISTINCT:
        yield fail("the key repeats a few characters", "make one: phistream key FILE")
        return
    yield ok(f"{len(secret)} bytes, key_id {Pseudonyms(secret).key_id}")


def judge_file(found: os.stat_result, file: Path, user: int) -> Iterator[Finding]:
    """Return whether anybody else can read or replace a key's file."""
    mode = stat.S_IMODE(found.st_mode)
    only_owner = f"chmod 600 {file} (Kubernetes: defaultMode 0400 of the secret)"
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        yield fail(f"others can read or change it: mode {mode:04o}", only_owner)
    elif mode & stat.S_IRGRP:
        yield warn(f"its group can read it: mode {mode:04o}", only_owner)
    elif found.st_uid not in (user, 0):
        yield warn("it belongs to another user", "let the service's user own it")
    else:
        yield ok(f"private: mode {mode:04o}")


def key_in_use(context: CheckContext) -> Iterator[Finding]:
    """Compare our key with that of the newest scrubbed notes."""
    told = context.broker.metadata.topics.get(NOTES_SCRUBBED.name)
    if told is None or told.error is not None:
        return
    messages = newest(context, NOTES_SCRUBBED, len(told.partitions))
    yield judge_key_id(
        Pseudonyms(context.settings.pseudonym_key()).key_id, key_ids(messages)
    )


def key_ids(messages: list[Message]) -> set[str]:
    """Return which keys scrubbed notes were written with."""
    return {
        str(value["key_id"])
        for value in (orjson.loads(each.value() or b"{}") for each in messages)
        if "key_id" in value
    }


def judge_key_id(ours: str, used: set[str]) -> Finding:
    """Return whether pseudonyms will go on as they were."""
    if not used:
        return ok("no scrubbed notes yet")
    if used == {ours}:
        return ok(f"the newest scrubbed notes bear key_id {ours}")
    return warn(
        f"the newest scrubbed notes bear key_id {', '.join(sorted(used))}, ours is "
        f"{ours}: a patient's old and new notes would not be linked",
        "name the former key's file, unless the key was changed on purpose",
    )
