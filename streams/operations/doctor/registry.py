"""The check of the schema registry: reachable, and it has the schemas."""

from __future__ import annotations

from collections.abc import Iterator

from streams.engine.errors import ConfigError, RegistryUnreachable
from streams.kafka.registry import opened, subject
from streams.kafka.topics import FRAMED

from .context import CheckContext
from .finding import Finding, fail, ok, warn


def registry(context: CheckContext) -> Iterator[Finding]:
    """Look the schemas up; nothing is registered."""
    settings = context.settings.schema_registry
    if not settings.url:
        yield ok("off: values are plain JSON")
        return
    try:
        with opened(context.settings) as opened_registry:
            ids = {subject(each): opened_registry.look_up(each) for each in FRAMED}
    except ConfigError as error:
        yield fail(str(error), "correct [schema_registry]")
        return
    except RegistryUnreachable as error:
        yield fail(str(error), "services can't start without it; running ones go on")
        return
    missing = [name for name, found in ids.items() if found is None]
    if not missing:
        shown = (f"{name} {found}" for name, found in ids.items())
        yield ok(f"{settings.url}: {', '.join(shown)}")
    elif settings.registers:
        yield warn(
            f"not registered yet: {', '.join(missing)}",
            "the next start of a service registers them",
        )
    else:
        yield fail(
            f"not registered: {', '.join(missing)}",
            "run: phistream topics register, or set register = true",
        )
