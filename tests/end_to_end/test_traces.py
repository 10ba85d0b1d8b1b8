"""One trace from a message on hl7.raw to its scrubbed note, as a collector gets it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import orjson
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from pydantic import SecretStr

from streams.demo.flow import read_topic
from streams.engine.traceparent import TraceParent
from streams.kafka.topics import HL7_RAW, NOTES, NOTES_SCRUBBED, PHI_AUDIT
from streams.operations.reconcile import Auditor
from streams.operations.settings import TraceSettings
from streams.pipeline.files.feed import RawMessage
from tests.conftest import settings_for, with_topics
from tests.harness import feed_and_drain, running

pytestmark = pytest.mark.timeout(400)

MRN, NAME = "77001122", "Zzfamquist"
TEXT = f"Ms. {NAME} was seen on 1/5/2025."
SENDER = TraceParent(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331, True)
STEPS = {
    "hl7.raw": {"decode", "encode"},
    "notes": {"decode", "join", "detect", "encode"},
    "patient.updates": {"decode", "join"},
}
MESSAGE = (
    f"MSH|^~\\&|LAB|NORTH|PHI|X|20250107||ORU^R01|C1|P|2.5.1\r"
    f"PID|1||{MRN}^^^NORTH^MR||{NAME}^Zzgivena||19520304|F\r"
    "OBR|1||R1|11506-3^Progress note^LN|||20250105\r"
    f"OBX|1|TX|11506-3^Progress note^LN||{TEXT}||||||F|||20250105\r"
).encode()
MESSAGES = [
    RawMessage(MESSAGE, b"lab", {"traceparent": bytes(SENDER), "baggage": b"mrn=1"}),
    RawMessage(MESSAGE, b"lab", {"traceparent": f"00-{MRN}-{NAME}".encode()}),
    RawMessage(b"not HL7", b"lab"),
]


class Collector:
    """An OTLP receiver over HTTP."""

    def __init__(self):
        self.spans, self.bodies, self.headers = [], [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.take(self.path, dict(self.headers), body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                """Keep the test's output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def take(self, path, headers, body):
        assert path == "/v1/traces"
        self.headers.append(headers)
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            [service] = [
                each.value.string_value
                for each in resource.resource.attributes
                if each.key == "service.name"
            ]
            for scope in resource.scope_spans:
                self.spans += ((service, span) for span in scope.spans)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(scope="module", params=["linked", "trusted"])
def job(request, brokers, tmp_path_factory):
    """The run: what was fed, and what came of it."""
    folder = tmp_path_factory.mktemp("traces")
    with Collector() as collector, brokers.borrow() as cluster:
        traces = TraceSettings(
            enabled=True, endpoint=collector.endpoint, ratio=1, parents=request.param
        )
        settings = with_topics(
            settings_for(
                cluster,
                folder,
                preset="lexical",
                log_level="debug",
                traces=traces,
                traces_headers=SecretStr("authorization=Bearer%20secret"),
            )
        )
        with running(settings, "intake", "scrub") as services:
            feed_and_drain(settings, services, MESSAGES)
        yield SimpleNamespace(
            parents=request.param,
            collector=collector,
            verdicts=Auditor(settings).verdicts(),
            topics={
                topic.name: [*read_topic(settings, topic.name)]
                for topic in (HL7_RAW, NOTES, NOTES_SCRUBBED, PHI_AUDIT)
            },
            logs={path.stem: path.read_text() for path in folder.glob("*.log")},
        )


def attributes(span):
    return {each.key: each.value for each in span.attributes}


def parent_of(message):
    return TraceParent.read(dict(message.headers()).get("traceparent"))


def traces_of(job):
    """Return, by trace id, the spans of the records of each topic."""
    found = {}
    for _, span in job.collector.spans:
        if span.name.startswith("process "):
            trace = found.setdefault(int.from_bytes(span.trace_id, "big"), {})
            trace.setdefault(span.name.removeprefix("process "), []).append(span)
    return found


def test_one_trace_leads_from_a_message_to_its_scrubbed_note(job):
    scrubbed = job.topics[NOTES_SCRUBBED.name]
    assert len(scrubbed) == 2
    for message in scrubbed:
        parent = parent_of(message)
        trace = traces_of(job)[parent.trace_id]
        [raw], [note] = trace["hl7.raw"], trace["notes"]
        # The output names the span of the note, whose parent is that of the message.
        assert parent.span_id == int.from_bytes(note.span_id, "big")
        assert raw.span_id == note.parent_span_id
        for topic, names in STEPS.items():
            for own in trace[topic]:
                below = {
                    each.name
                    for _, each in job.collector.spans
                    if each.parent_span_id == own.span_id
                    and not each.name.startswith("process ")
                }
                assert names == below
                committed = [
                    each
                    for _, each in job.collector.spans
                    if each.name == "commit"
                    and own.span_id in {link.span_id for link in each.links}
                ]
                assert len(committed) == 1


def test_a_sender_is_linked_or_carried_on_as_the_setting_says(job):
    messages = {
        int(attributes(spans["hl7.raw"][0])["messaging.kafka.offset"].int_value): trace
        for trace, spans in traces_of(job).items()
    }
    assert len(messages) == 3
    own = [SENDER.trace_id == each for _, each in sorted(messages.items())]
    linked = [
        int.from_bytes(link.trace_id, "big")
        for spans in traces_of(job).values()
        for link in spans["hl7.raw"][0].links
    ]
    if job.parents == "trusted":
        assert (own, linked) == ([True, False, False], [])
    else:
        assert ([False] * 3, [SENDER.trace_id]) == (own, linked)


def test_outputs_stay_sealed_and_reconcile_finds_nothing(job):
    assert all(parent_of(each) for each in job.topics[PHI_AUDIT.name])
    assert [
        (each.missing, each.doubled, each.out_of_order) for each in job.verdicts
    ] == [(0, 0, 0)] * 3


def test_log_lines_about_a_record_have_its_trace(job):
    for service, topic in (("intake", "hl7.raw"), ("scrub", "notes")):
        lines = [
            line
            for text in job.logs[service].splitlines()
            if text.startswith("{")
            and (line := orjson.loads(text))["logger"].endswith("traces.spans")
            and line["message"].startswith(topic)
        ]
        known = {f"{trace:032x}" for trace in traces_of(job)}
        assert len(job.topics[topic]) == len(lines)
        assert {each["trace_id"] for each in lines} <= known


def test_no_text_or_identifier_reaches_the_collector(job):
    told = b"".join(job.collector.bodies)
    for marker in (MRN, NAME, "Zzgivena", "1/5/2025", "seen on", "mrn=1"):
        assert marker.encode() not in told
    services = {service for service, _ in job.collector.spans}
    assert services == {"phistream-intake", "phistream-scrub"}
    for _, span in job.collector.spans:
        assert (len(span.events), span.status.message) == (0, "")
    for headers in job.collector.headers:
        assert headers["authorization"] == "Bearer secret"
    assert "Bearer" not in "".join(job.logs.values())


def test_no_header_of_a_sender_is_copied(job):
    for topic in (NOTES, NOTES_SCRUBBED, PHI_AUDIT):
        for each in job.topics[topic.name]:
            headers = dict(each.headers())
            assert "baggage" not in headers
            assert TraceParent.read(headers["traceparent"]) is not None
