"""The request for a run of `phistream rescrub`, checked before anything is read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from pydantic import BaseModel

from deid_core import ConfigError as DeidConfigError
from deid_core import load_preset
from deid_core.policy import load_policy
from deid_core.tagger.model_files import model_version
from deid_core.term_files import TermFiles
from streams.engine.errors import ConfigError
from streams.kafka.topics import RESCRUB, RESCRUBBED, Topic
from streams.kafka.versions import LIVE, VERSION
from streams.model.audit import Run
from streams.operations.settings import Settings
from streams.pipeline.scrub.outputs import Destination

EARLIEST = "earliest"
TIMES = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")
"""Formats of a time, in UTC."""
_OFFSET = re.compile(r"[0-9]{1,18}")
_OFFSETS = re.compile(r"[0-9]{1,6}:[0-9]{1,18}(,[0-9]{1,6}:[0-9]{1,18})*")


@dataclass(frozen=True, slots=True)
class From:
    """The first notes to read; one of the three, or none for the earliest.

    Args:
        given: As the command line has it.
        time_ms: Notes that were written to the topic then or later.
        offset: In each partition.
        offsets: By partition, for all of them.
    """

    given: str
    time_ms: int | None = None
    offset: int | None = None
    offsets: tuple[tuple[int, int], ...] = ()

    @classmethod
    def read(cls, given: str) -> From:
        """Return what `--from` says.

        Raises:
            ConfigError: It is no time and no offset.
        """
        if given == EARLIEST:
            return cls(given)
        if _OFFSET.fullmatch(given):
            return cls(given, offset=int(given))
        if _OFFSETS.fullmatch(given):
            pairs = [each.split(":") for each in given.split(",")]
            offsets = tuple((int(p), int(at)) for p, at in pairs)
            if len(dict(offsets)) < len(offsets):
                raise ConfigError("--from: names a partition twice")
            return cls(given, offsets=offsets)
        for form in TIMES:
            try:
                at = datetime.strptime(given, form).replace(tzinfo=UTC)
            except ValueError:
                continue
            return cls(given, time_ms=int(at.timestamp() * 1000))
        raise ConfigError(
            "--from: is no time and no offset; give a time in UTC "
            "(2026-03-14 or 2026-03-14T10:00), an offset of each partition (120), "
            f"PARTITION:OFFSET,... for all partitions, or {EARLIEST}"
        )


@dataclass(frozen=True, slots=True)
class Means:
    """The means by which notes are scrubbed: two runs with the same do the same.

    Args:
        preset: Its name.
        policy: Its name.
        preset_version: Eight hex digits of the SHA-256 of what the preset says.
        policy_version: Eight hex digits of the SHA-256 of what the policy says.
        model: Name and version of the tagger's model; empty without one.
    """

    preset: str
    policy: str
    preset_version: str
    policy_version: str
    model: str

    @classmethod
    def of(cls, settings: Settings) -> Means:
        """Return what the settings name.

        Raises:
            ConfigError: A preset or policy is unknown or wrong.
        """
        try:
            config = load_preset(settings.preset)
            policy = load_policy(settings.policy)
            name = getattr(config.options.get("tagger"), "model", None)
            model = model_version(name) if name else ""
            contents = _contents(config.terms | settings.terms)
        except DeidConfigError as error:
            raise ConfigError(str(error)) from None
        return cls(
            Path(settings.preset).stem,
            Path(settings.policy).stem,
            _digest(config, settings.terms, contents),
            _digest(policy),
            model,
        )

    def run(self, version: str) -> Run:
        """Return what audit events say besides the names, of a run into a version."""
        run: Run = {
            "into": version,
            "preset_version": self.preset_version,
            "policy_version": self.policy_version,
        }
        return {**run, "model": self.model} if self.model else run

    def __str__(self) -> str:
        return (
            f"preset {self.preset} ({self.preset_version}), "
            f"policy {self.policy} ({self.policy_version})"
        )


def _contents(terms: TermFiles) -> list[str]:
    """Return the digests of lists of terms, whose names stay when they are edited."""
    names = [*chain.from_iterable(terms.remove.values()), *terms.keep]
    try:
        contents = [Path(name).expanduser().read_bytes() for name in names]
    except OSError as error:
        raise ConfigError(
            f"terms: a list can't be read ({error.strerror}); check their names"
        ) from None
    return [hashlib.sha256(each).hexdigest() for each in contents]


def _digest(*said: object) -> str:
    return hashlib.sha256(repr(_plain(said)).encode()).hexdigest()[:8]


def _plain(said: object) -> object:
    """Return a preset or policy in a form that is the same in each process.

    The order of a set is not.
    """
    if is_dataclass(said) and not isinstance(said, type):
        said = {each.name: getattr(said, each.name) for each in fields(said)}
    elif isinstance(said, BaseModel):
        said = said.model_dump(mode="json")
    if isinstance(said, Mapping):
        return sorted((str(name), repr(_plain(each))) for name, each in said.items())
    # Some lists are made of sets.
    if isinstance(said, Set | list | tuple):
        return sorted(repr(_plain(each)) for each in said)
    return str(said)


def checked_version(into: str) -> str:
    """Return a version that may be written.

    Raises:
        ConfigError: It is none, or that of the live feed.
    """
    if into == LIVE:
        raise ConfigError(
            f"--into {LIVE}: that is the live feed, which phistream run scrub writes; "
            "name another version: v2, v3, ..."
        )
    if not VERSION.fullmatch(into):
        raise ConfigError("--into: is no version; name one: v2, v3, ...")
    return into


def topics_of(version: str) -> tuple[Topic, ...]:
    """Return the topics of a version: of notes, messages and audit events."""
    return tuple(topic.of_version(version) for topic in RESCRUBBED)


def destination(version: str, means: Means) -> Destination:
    """Return where the outputs of a version go."""
    notes, messages, audit = topics_of(version)
    return Destination(RESCRUB, notes, messages, audit, means.run(version))
