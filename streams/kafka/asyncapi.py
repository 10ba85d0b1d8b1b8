"""The contract of all topics as an AsyncAPI 3.0 document.

It is made from `topics.py`, `acls.py` and the schemas; a test compares it with the copy
in schemas/asyncapi.json.  Tools draw it, make clients of it and check events with it
(AsyncAPI specification 3.0.0; bindings for Kafka 0.5.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from .acls import ONLY_READ, READ_AND_WRITTEN
from .topics import FRAMED, TOPICS, TOPICS_OF, Stage, Topic

BINDING = "0.5.0"
DRAFT_7 = "application/schema+json;version=draft-07"
HEADERS: Mapping[str, str] = {
    "source": "topic/partition/offset of the input record",
    "schema": "kind and version of the value",
    "seal": "keyed digests of the input record and of this one, for phistream "
    "reconcile",
    "traceparent": "W3C Trace Context, version 00; only with traces",
}
"""Of every record that phistream writes, but rebuilt messages have no schema, and rows
of tables neither seal nor traceparent."""

Json = dict[str, Any]


def asyncapi(*, has_registry: bool = False) -> Json:
    """Return the AsyncAPI document of all topics that hold values.

    Args:
        has_registry: Whether JSON has the wire format of a schema registry.
    """
    messages: Json = {}
    schemas: Json = {}
    for topic in TOPICS:
        for name, message, parts in _messages(topic):
            messages[name] = message
            schemas |= parts
    if has_registry:
        for topic in FRAMED:
            for name, *_ in _messages(topic):
                messages[name] = _framed(messages[name])
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "phistream",
            "version": metadata.version("phistream"),
            "description": "Streaming de-identification of clinical notes. Records are "
            "written in transactions: read with isolation.level=read_committed.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": dict(_operations()),
        "components": {"messages": messages, "schemas": schemas},
    }


def _framed(message: Json) -> Json:
    """Return a message whose JSON has the wire format of a schema registry."""
    binding = message["bindings"]["kafka"] | {
        "schemaIdLocation": "payload",
        "schemaIdPayloadEncoding": "confluent",
        "schemaLookupStrategy": "TopicNameStrategy",
    }
    says = "JSON follows a zero byte and the four bytes of its schema's id."
    return message | {"description": says, "bindings": {"kafka": binding}}


def _channel(topic: Topic) -> Json:
    return {
        "address": topic.name,
        "description": f"Key: {topic.key}. Read by {topic.readers}. "
        + ("Holds PHI." if topic.phi else "Holds no PHI."),
        "messages": {
            name: {"$ref": f"#/components/messages/{name}"}
            for name, *_ in _messages(topic)
        },
        "bindings": {
            "kafka": {
                "topic": topic.name,
                "topicConfiguration": _configuration(topic),
                "bindingVersion": BINDING,
            }
        },
    }


def _configuration(topic: Topic) -> Json:
    """Return the settings of a topic that the binding knows, as numbers."""
    config = topic.config()
    found: Json = {"cleanup.policy": [config["cleanup.policy"]]}
    for name in ("retention.ms", "delete.retention.ms", "max.message.bytes"):
        if name in config:
            found[name] = int(config[name])
    return found


def _messages(topic: Topic) -> Iterator[tuple[str, Json, Json]]:
    """Yield the messages of a topic: name, message, and the schemas that it needs."""
    bindings = {
        "kafka": {
            "key": {"type": "string", "description": topic.key},
            "bindingVersion": BINDING,
        }
    }
    if topic.value:
        yield (
            f"{topic.name}.message",
            {
                "title": topic.value,
                "contentType": "application/octet-stream",
                "bindings": bindings,
            },
            {},
        )
    if not topic.schema_version:
        return
    schema = topic.schema
    name = f"{schema.kind}.v{schema.version}"
    definition = schema.definition()
    parts = {
        f"{name}.{part}": _with_references(node, name)
        for part, node in definition.pop("definitions", {}).items()
    }
    root = {key: each for key, each in definition.items() if key[0] != "$"}
    message = {
        "title": definition["title"],
        "contentType": "application/json",
        "payload": {
            "schemaFormat": DRAFT_7,
            "schema": _with_references(root, name),
        },
        "bindings": bindings,
    }
    if topic.name != "hl7.raw":
        message["headers"] = {
            "type": "object",
            "properties": {
                key: {"type": "string", "description": says}
                for key, says in HEADERS.items()
            },
        }
    yield name, message, parts


def _with_references(node: Any, name: str) -> Any:  # noqa: ANN401 (JSON)
    """Return a part of a schema whose references lead to the document's schemas."""
    if isinstance(node, list):
        return [_with_references(each, name) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        part = str(node["$ref"]).removeprefix("#/definitions/")
        return {"$ref": f"#/components/schemas/{name}.{part}"}
    return {key: _with_references(each, name) for key, each in node.items()}


def _operations() -> Iterator[tuple[str, Json]]:
    for stage, topics in TOPICS_OF.items():
        for topic in topics:
            if topic in ONLY_READ[stage] or topic in READ_AND_WRITTEN[stage]:
                yield _operation(stage, "receive", topic)
            if topic not in ONLY_READ[stage]:
                yield _operation(stage, "send", topic)


def _operation(stage: Stage, action: str, topic: Topic) -> tuple[str, Json]:
    channel = {"$ref": f"#/channels/{topic.name}"}
    verb = "reads" if action == "receive" else "writes"
    return f"{stage}.{action}.{topic.name}", {
        "action": action,
        "channel": channel,
        "summary": f"{stage} {verb} {topic.name}",
    }
