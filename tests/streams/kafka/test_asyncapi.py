"""The AsyncAPI document says what the topics and schemas say."""

import json
from pathlib import Path

import pytest

import schemas
from schemas import Schema
from streams.kafka.asyncapi import asyncapi
from streams.kafka.topics import TOPICS, TOPICS_OF

FILE = Path(schemas.__file__).parent / "asyncapi.json"


@pytest.fixture(scope="module")
def document():
    return asyncapi()


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        node = node.values()
    for each in node if not isinstance(node, str | int | float | None) else ():
        yield from references(each)


def test_the_file_is_what_the_topics_say(document):
    """If this fails: phistream topics asyncapi > schemas/asyncapi.json."""
    written = json.loads(FILE.read_text())

    assert {**written, "info": None} == {**document, "info": None}
    assert written["info"].keys() == document["info"].keys()


def test_every_reference_leads_somewhere(document):
    found = [*references(document)]

    assert len(found) > 50
    for each in found:
        node = document
        for step in each.removeprefix("#/").split("/"):
            node = node[step]


def test_every_topic_is_a_channel_with_messages(document):
    assert document["channels"].keys() == {topic.name for topic in TOPICS}
    assert all(each["messages"] for each in document["channels"].values())
    assert len(document["channels"]["hl7.raw"]["messages"]) == 2


def test_a_payload_is_the_schema_of_the_topic(document):
    payload = document["components"]["messages"]["phi.audit.v1"]["payload"]["schema"]
    schema = Schema("phi.audit", 1).definition()

    assert payload["properties"] == schema["properties"]
    assert payload["required"] == schema["required"]


def test_every_stage_sends_or_receives_each_of_its_topics(document):
    named = {(*each.split(".", 2),) for each in document["operations"]}

    for stage, topics in TOPICS_OF.items():
        assert {t.name for t in topics} == {n for s, _, n in named if s == stage}
    assert ("intake", "receive", "hl7.raw") in named
    assert ("intake", "send", "hl7.raw") not in named
    assert ("scrub", "send", "hl7.scrubbed") in named


def test_with_a_registry_the_bindings_name_the_wire_format(document):
    plain = document["components"]["messages"]
    framed = asyncapi(has_registry=True)["components"]["messages"]

    changed = {name for name in plain if plain[name] != framed[name]}
    assert changed == {"notes.scrubbed.v1", "phi.audit.v1", "hl7.scrubbed.message"}
    for name in changed:
        binding = framed[name]["bindings"]["kafka"]
        assert binding["schemaIdLocation"] == "payload"
        assert binding["schemaLookupStrategy"] == "TopicNameStrategy"
        assert plain[name]["contentType"] == framed[name]["contentType"]
