"""Checks of the pseudonym key: long, random, private, and the one in use."""

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

MIN_DISTINCT = 10
"""Different bytes of a key; 32 random hex digits have fewer once in some 10,000."""


def key(context: CheckContext) -> Iterator[Finding]:
    """Check the key and its file."""
    try:
        secret = context.settings.pseudonym_key()
    except ConfigError as error:
        yield fail(str(error), "run: phistream key FILE, and set pseudonym_key_file")
        return
    yield from judge_secret(secret)
    file = context.settings.pseudonym_key_file
    if file is not None:
        yield from judge_file(file.expanduser().stat(), file, os.geteuid())


def judge_secret(secret: bytes) -> Iterator[Finding]:
    """Check that a key looks random; the key itself is not shown."""
    if len(set(secret)) < MIN_DISTINCT:
        yield fail("the key repeats a few characters", "create one: phistream key FILE")
        return
    yield ok(f"{len(secret)} bytes, key_id {Pseudonyms(secret).key_id}")


def judge_file(found: os.stat_result, file: Path, user: int) -> Iterator[Finding]:
    """Check that nobody else can read or replace a key's file."""
    mode = stat.S_IMODE(found.st_mode)
    only_owner = f"chmod 600 {file} (Kubernetes: defaultMode 0400 of the secret)"
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        yield fail(f"others can read or change it: mode {mode:04o}", only_owner)
    elif mode & stat.S_IRGRP:
        yield warn(f"its group can read it: mode {mode:04o}", only_owner)
    elif found.st_uid not in (user, 0):
        yield warn("it belongs to another user", "make the service's user its owner")
    else:
        yield ok(f"private: mode {mode:04o}")


def key_in_use(context: CheckContext) -> Iterator[Finding]:
    """Compare the key with that of the newest scrubbed notes."""
    if context.partitions(NOTES_SCRUBBED.name):
        own = Pseudonyms(context.settings.pseudonym_key()).key_id
        yield judge_key_id(own, key_ids(newest(context, NOTES_SCRUBBED)))


def key_ids(messages: list[Message]) -> set[str]:
    """Return the ids of the keys in scrubbed notes."""
    return {
        str(value["key_id"])
        for value in (orjson.loads(each.value() or b"{}") for each in messages)
        if "key_id" in value
    }


def judge_key_id(own: str, used: set[str]) -> Finding:
    """Check that pseudonyms stay the same."""
    if not used:
        return ok("no scrubbed notes yet")
    if used == {own}:
        return ok(f"the newest scrubbed notes have key_id {own}")
    return warn(
        f"the newest scrubbed notes have key_id {', '.join(sorted(used))}, this key "
        f"has {own}: a patient's old and new notes would not be linked",
        "set the former key's file, unless the key was changed on purpose",
    )
