"""The schema registry: where the ids of the wire format come from.

A service asks for the ids that it writes once, when it starts; so does a command that
writes audit events.  Workers ask for an id that they read when they see it first.  The
registry gets the schemas of `schemas` and nothing else.  A subject is named by its
topic: TOPIC-value (TopicNameStrategy).
"""

from __future__ import annotations

import math
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from pydantic import SecretStr

from schemas import FOLDER
from streams.engine.errors import ConfigError, RegistryUnreachable
from streams.engine.extras import install

from .settings import KafkaSettings
from .topics import FRAMED, Topic
from .wire_format import SchemaIds, header

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryError

T = TypeVar("T")

TIMEOUT_SECONDS, RETRIES = 5, 3
"""Bounded, so that a worker that waits stays a member of its group (poll_seconds)."""
ASK_AGAIN_SECONDS = 10.0
"""After which an unknown id may have been registered."""
MAX_IDS = 10_000
SHOWN_CHARACTERS = 300
"""Of the registry's answer that a schema is not compatible."""
_SUBJECT_UNKNOWN, _VERSION_UNKNOWN, _SCHEMA_UNKNOWN = 40401, 40402, 40403
_NOT_THERE = (_SUBJECT_UNKNOWN, _VERSION_UNKNOWN, _SCHEMA_UNKNOWN)


def schema_ids(settings: KafkaSettings, topics: Iterable[Topic]) -> SchemaIds:
    """Return the ids for those of the topics that have the wire format.

    Args:
        settings: Without a registry there are none.
        topics: What is written.

    Raises:
        ConfigError: A setting is wrong, or a schema is not registered, or refused.
        RegistryUnreachable: The registry did not answer, or failed.
    """
    if not settings.schema_registry.url:
        return {}
    framed = [topic for topic in topics if topic in FRAMED]
    with opened(settings) as registry:
        if settings.schema_registry.registers:
            return {topic.name: registry.register(topic) for topic in framed}
        return dict(_required(registry, framed))


def _required(
    registry: SchemaRegistry, topics: Iterable[Topic]
) -> Iterator[tuple[str, int]]:
    for topic in topics:
        found = registry.look_up(topic)
        if found is None:
            raise ConfigError(
                f"schema_registry: {subject(topic)}: the schema is not registered; "
                "run: phistream topics register, or set register = true"
            )
        yield topic.name, found


def subject(topic: Topic) -> str:
    """Return the name under which the schema of a topic's values is registered."""
    return f"{topic.name}-value"


def definition(topic: Topic) -> dict[str, Any]:
    """Return the JSON Schema of the values of a topic that have the wire format."""
    if topic.schema_version:
        found = topic.schema.definition()
    else:
        file = FOLDER.joinpath(topic.name, "fhir.json")
        found = orjson.loads(file.read_bytes())
    # It is no address that a registry could resolve references by.
    return {name: each for name, each in found.items() if name != "$id"}


class KnownIds:
    """A cache of the schema ids that the registry has: each is asked for once.

    Schemas are never changed, so what is known stays known.

    Args:
        settings: Where it is, and who asks.
        clock: Monotonic seconds.
    """

    def __init__(
        self, settings: KafkaSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._answers: dict[int, tuple[bool, float]] = {}

    def __call__(self, schema_id: int) -> bool:
        """Return whether the registry has it.

        Raises:
            ConfigError: The registry refuses to answer.
            RegistryUnreachable: It did not answer, or failed.
        """
        is_known, asked_at = self._answers.get(schema_id, (False, -math.inf))
        if is_known or self._clock() - asked_at < ASK_AGAIN_SECONDS:
            return is_known
        with opened(self._settings) as registry:
            is_known = registry.has(schema_id)
        if len(self._answers) >= MAX_IDS:
            self._answers.clear()
        self._answers[schema_id] = is_known, self._clock()
        return is_known


class SchemaRegistry:
    """A schema registry, by the client of confluent-kafka.

    Args:
        settings: Where it is, and who asks.

    Raises:
        ConfigError: The extra is not installed, or a setting is wrong.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        try:
            # Only those who use a registry need the extra.
            import httpx2  # noqa: F401  # `_asked` knows its errors
            from confluent_kafka.schema_registry import SchemaRegistryClient
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"schema_registry: {error.name} is missing; install: "
                f"{install('registry')}"
            ) from None
        properties = _properties(settings)
        try:
            self._client = SchemaRegistryClient(properties)
        except OSError as error:
            why = error.reason if isinstance(error, ssl.SSLError) else error.strerror
            raise ConfigError(
                f"schema_registry.ca_file: can't be used ({why}); name a file in PEM"
            ) from None

    def look_up(self, topic: Topic) -> int | None:
        """Return the id of a topic's schema; None if it is not registered.

        Raises:
            ConfigError: The registry refuses to answer.
            RegistryUnreachable: It did not answer, or failed.
        """
        name = subject(topic)
        found = _asked(name, lambda: self._client.lookup_schema(name, _schema(topic)))
        return None if found is None else _id(name, found.schema_id)

    def register(self, topic: Topic) -> int:
        """Register a topic's schema, if it is not registered yet; return its id.

        Raises:
            ConfigError: The registry refuses it.
            RegistryUnreachable: It did not answer, or failed.
        """
        name = subject(topic)
        found = _asked(
            name,
            lambda: self._client.register_schema_full_response(name, _schema(topic)),
        )
        if found is None:
            raise ConfigError(f"schema_registry: {name}: {_NO_REGISTRY}")
        return _id(name, found.schema_id)

    def has(self, schema_id: int) -> bool:
        """Return whether there is a schema of an id, of any type and subject.

        Raises:
            ConfigError: The registry refuses to answer.
            RegistryUnreachable: It did not answer, or failed.
        """
        name = f"id {schema_id}"
        found = _asked(name, lambda: self._client.get_schema(schema_id))
        if found is not None and not isinstance(found.schema_str, str):
            raise ConfigError(f"schema_registry: {name}: {_NO_REGISTRY}")
        return found is not None

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@contextmanager
def opened(settings: KafkaSettings) -> Iterator[SchemaRegistry]:
    """Open the registry of the settings, and close it in the end."""
    registry = SchemaRegistry(settings)
    try:
        yield registry
    finally:
        registry.close()


_NO_REGISTRY = "no schema registry answers there; correct url"


def _schema(topic: Topic) -> Schema:
    from confluent_kafka.schema_registry import Schema

    return Schema(orjson.dumps(definition(topic)).decode(), "JSON")


def _properties(settings: KafkaSettings) -> dict[str, Any]:
    """Return the properties of the client."""
    table = settings.schema_registry
    properties: dict[str, Any] = {
        "url": table.url,
        "timeout": TIMEOUT_SECONDS,
        "max.retries": RETRIES,
    }
    if table.ca_file is not None:
        properties["ssl.ca.location"] = str(table.ca_file.expanduser())
    password = _secret(
        settings.schema_registry_password, table.password_file, "password"
    )
    token = _secret(settings.schema_registry_token, table.token_file, "token")
    if bool(table.user) != bool(password):
        raise ConfigError(
            "schema_registry: user and a password (schema_registry_password, or "
            "password_file) need each other"
        )
    if token and password:
        raise ConfigError("schema_registry: set a password or a token, not both")
    if password:
        properties["basic.auth.user.info"] = f"{table.user}:{password}"
    if token:
        properties |= {
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": token,
            "bearer.auth.logical.cluster": table.logical_cluster,
        }
    return properties


def _secret(value: SecretStr | None, file: Path | None, what: str) -> str:
    """Return a secret from the environment or a file; "" if there is none.

    Raises:
        ConfigError: Both are set, the file is unreadable or empty, or the secret can't
            be sent in a header.
    """
    where = f"schema_registry.{what}_file"
    if value is not None:
        if file is not None:
            raise ConfigError(f"{where}: is set, and schema_registry_{what} as well")
        found, where = value.get_secret_value(), f"schema_registry_{what}"
    elif file is not None:
        try:
            found = file.expanduser().read_text("utf-8").strip()
        except OSError as error:
            raise ConfigError(f"{where}: can't be read ({error.strerror})") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{where}: not UTF-8") from None
    else:
        return ""
    if not (found and found.isascii() and found.isprintable()):
        raise ConfigError(f"{where}: must be one line of ASCII characters")
    return found


def _asked(name: str, ask: Callable[[], T]) -> T | None:
    """Return what the registry answers; None if it does not know the schema."""
    import httpx2
    from confluent_kafka.schema_registry import SchemaRegistryError

    where = f"schema_registry: {name}"
    try:
        return ask()
    except SchemaRegistryError as error:
        if error.error_code in _NOT_THERE:
            return None
        raise _refused(where, error) from None
    except httpx2.TransportError as error:
        if _is_untrusted(error):
            raise ConfigError(
                f"{where}: the registry's certificate is not trusted; set ca_file"
            ) from None
        raise RegistryUnreachable(
            f"{where}: the registry did not answer ({type(error).__name__}); look at "
            "url, the network and the registry"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, httpx2.InvalidURL):
        raise ConfigError(f"{where}: {_NO_REGISTRY}") from None


def _id(name: str, answered: object) -> int:
    """Return an id; what a server answers may be anything."""
    try:
        if isinstance(answered, int):
            header(answered)
            return answered
    except ValueError:
        pass
    raise ConfigError(f"schema_registry: {name}: {_NO_REGISTRY}")


def _refused(where: str, error: SchemaRegistryError) -> Exception:
    """Return the error that an answer of the registry means.

    What it says is shown where it speaks of schemas alone.
    """
    status = error.http_status_code
    if status in (401, 403):
        return ConfigError(
            f"{where}: the registry refuses the credentials (HTTP {status}); look at "
            "user and password, or the token, and what they may do"
        )
    if status in (409, 422):
        said = str(error.error_message)[:SHOWN_CHARACTERS]
        return ConfigError(
            f"{where}: the registry refuses the schema (HTTP {status}): {said}; for "
            "409 look at the subject's compatibility: schemas/README.md"
        )
    if status in (408, 429) or status >= 500:
        return RegistryUnreachable(
            f"{where}: the registry failed (HTTP {status}); look at its log"
        )
    return ConfigError(f"{where}: {_NO_REGISTRY} (HTTP {status})")


def _is_untrusted(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
