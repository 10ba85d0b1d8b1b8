"""Spans of the real loop and the real processors, as a collector gets them."""

from __future__ import annotations

import io
import logging
import sys
from contextlib import contextmanager
from dataclasses import replace

import orjson
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from deid_core import Deidentifier
from streams.engine.errors import ConfigError, InvalidRecord, RetriableError
from streams.engine.keys.ring import PseudonymKeys
from streams.engine.log import JsonLines
from streams.engine.observer import CompositeObserver, Observer
from streams.engine.records import Output, Partition, Record
from streams.engine.traceparent import TRACEPARENT, TraceParent
from streams.kafka.topics import HL7_RAW, NOTES
from streams.model.notes import ClinicalNote
from streams.model.outputs import RECEIVED
from streams.model.patients.demographics import PatientId
from streams.model.seals import Seals
from streams.operations.settings import Settings, TraceSettings, load_settings
from streams.operations.traces.exporting import (
    LoggedExporter,
    exporting,
    headers_of,
    tracer_of,
)
from streams.operations.traces.spans import MAX_LINKS, TraceObserver
from streams.operations.traces.tracing import tracing
from streams.pipeline.intake.processor import Intake
from streams.pipeline.scrub.held import UnknownPatients
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.processor import Scrub
from tests.benchmarks.metrics_cost import NoTable
from tests.office import OFFICE
from tests.streams.kafka.local_broker import LocalBroker, start

SENDER = TraceParent(0xABC, 0xDEF, is_sampled=True)
NAME = "Quellwright"
TEXT = f"Ms. {NAME}, MRN 4829133, was seen on 3/14/2024."


@pytest.fixture
def spans():
    return InMemorySpanExporter()


def observer_of(spans, **settings):
    settings = TraceSettings(**{"enabled": True, "ratio": 1} | settings)
    return TraceObserver(tracer_of("test", SimpleSpanProcessor(spans)), settings)


def scrub(observer):
    return Scrub(
        lambda: Deidentifier.from_names(preset="lexical"),
        NoTable(),
        NoTable(),
        UnknownPatients(),
        ScrubOutputs(
            PseudonymKeys.of(b"k" * 32), preset="lexical", policy="safe-harbor"
        ),
        1,
        office=OFFICE,
        max_bytes=1 << 20,
        entered=observer.entered,
    )


def intake(observer):
    return Intake(max_bytes=1 << 20, office=OFFICE, entered=observer.entered)


def note_of(offset, parent=None, text=TEXT):
    patient = PatientId("N", f"MRN{offset}")
    note = ClinicalNote(f"note-{offset}", patient, "", "", text)
    value = orjson.dumps(NOTES.schema.versioned(note.to_json()))
    return record_of(NOTES.name, offset, value, parent, patient.key)


def record_of(topic, offset, value, parent=None, key=b"k"):
    headers = {RECEIVED: b"1700000000000"}
    if parent is not None:
        headers[TRACEPARENT] = bytes(parent)
    return Record(Partition(topic, 0), offset, key, value, headers)


@contextmanager
def processed(records, processor, observer, **limits):
    """Yield the broker after all records went through the loop."""
    broker = LocalBroker(partitions=1)
    broker.logs[Partition("notes", 0)] = records
    seals = Seals(b"s" * 32)
    processor.assigned([0])
    runner = start(
        broker,
        processor,
        observer=CompositeObserver(Observer(), observer),
        seal=lambda outputs: seals.sealed(observer.with_headers(outputs)),
        **{"max_records": 100} | limits,
    )
    while runner.run_once() or not broker.offsets:
        pass
    yield broker


def routed(message, observer):
    """Return what intake makes of a message."""
    processor = intake(observer)
    observer.begun([message])
    [outcome] = processor.process([message])
    if isinstance(outcome, InvalidRecord):
        outcome = processor.dead_letter(message, outcome)
    outputs = observer.with_headers(outcome)
    observer.staged([message], outputs)
    observer.committed()
    return outputs


def outputs_of(broker):
    return [each for topic in broker.committed.values() for each in topic]


def parent_of(output):
    return TraceParent.read(output.headers[TRACEPARENT])


def named(spans, name):
    return [each for each in spans.get_finished_spans() if each.name == name]


def test_a_note_has_a_span_for_each_step_below_its_own(spans):
    observer = observer_of(spans)
    with processed([note_of(0, SENDER)], scrub(observer), observer):
        pass

    [own] = named(spans, "process notes")
    assert (own.context.trace_id, own.parent.span_id) == (0xABC, 0xDEF)
    at = own.start_time
    for name in ("decode", "join", "detect", "encode"):
        [step] = named(spans, name)
        assert own.context.span_id == step.parent.span_id
        assert at <= step.start_time <= step.end_time <= own.end_time
        at = step.end_time
    [commit] = named(spans, "commit")
    assert [each.context for each in commit.links] == [own.context]
    assert at <= commit.start_time <= commit.end_time <= own.end_time


def test_every_output_names_the_span_of_its_input(spans):
    observer = observer_of(spans)
    with processed([note_of(0), note_of(1)], scrub(observer), observer) as broker:
        own = {s.attributes["messaging.kafka.offset"]: s.context
               for s in named(spans, "process notes")}  # fmt: skip
        assert len({each.trace_id for each in own.values()}) == 2
        for each in outputs_of(broker):
            context = own[each.source.offset]
            expected = TraceParent(context.trace_id, context.span_id, is_sampled=True)
            assert expected == parent_of(each)


def test_the_seal_covers_the_header(spans):
    observer = observer_of(spans)
    with processed([note_of(0)], scrub(observer), observer) as broker:
        seals = Seals(b"s" * 32)
        for each in outputs_of(broker):
            digest = seals.of_input(each.source)
            given = each.key, each.value, each.headers.items()
            seal = seals.of_output(each.topic, *given, digest)
            assert bytes(seal) == each.headers["seal"]


def test_a_sender_is_linked_to_and_its_ids_go_no_further(spans):
    observer = observer_of(spans)
    message = record_of(HL7_RAW.name, 0, b"not HL7", SENDER)
    outputs = routed(message, observer)

    [own] = named(spans, "process hl7.raw")
    [link] = own.links
    assert (link.context.trace_id, link.context.span_id) == (0xABC, 0xDEF)
    assert own.parent is None
    assert own.context.trace_id != 0xABC
    for each in outputs:
        assert own.context.trace_id == parent_of(each).trace_id
        assert parent_of(each).span_id == own.context.span_id


def test_the_trace_of_a_trusted_sender_is_carried_on(spans):
    observer = observer_of(spans, parents="trusted", ratio=0)
    message = record_of(HL7_RAW.name, 0, b"not HL7", SENDER)
    outputs = routed(message, observer)

    assert {parent_of(each).trace_id for each in outputs} == {0xABC}
    [own] = named(spans, "process hl7.raw")
    assert own.parent.span_id == 0xDEF


def test_a_parent_that_is_not_sampled_is_carried_on_without_spans(spans):
    observer = observer_of(spans)
    parent = replace(SENDER, is_sampled=False)
    with processed([note_of(0, parent)], scrub(observer), observer) as broker:
        for each in outputs_of(broker):
            made = parent_of(each)
            assert (made.trace_id, made.is_sampled) == (0xABC, False)
            assert made.span_id != 0xDEF
    assert spans.get_finished_spans() == ()


def test_the_ratio_is_that_of_the_traces_begun_here(spans):
    draws = iter([0.1, 0.5, 0.2499, 0.25])
    settings = TraceSettings(enabled=True, ratio=0.25)
    tracer = tracer_of("test", SimpleSpanProcessor(spans))
    observer = TraceObserver(tracer, settings, draw=lambda: next(draws))
    records = [note_of(n) for n in range(4)]
    with processed(records, scrub(observer), observer):
        pass

    found = named(spans, "process notes")
    assert {s.attributes["messaging.kafka.offset"] for s in found} == {0, 2}
    [detect, _] = named(spans, "detect")
    assert detect.attributes["phistream.records"] == 4


def test_tracestate_and_baggage_are_not_carried_on(spans):
    observer = observer_of(spans, parents="trusted")
    message = record_of(HL7_RAW.name, 0, b"not HL7", SENDER)
    extra = {"tracestate": b"mrn=4829133", "baggage": b"name=Quellwright"}
    message = replace(message, headers={**message.headers, **extra})
    for each in routed(message, observer):
        assert not {"tracestate", "baggage"} & each.headers.keys()
    for each in spans.get_finished_spans():
        assert not each.context.trace_state


def test_no_text_or_identifier_is_in_any_span(spans):
    observer = observer_of(spans, parents="trusted")
    records = [note_of(0), note_of(1, text="x" * 9), record_of(NOTES.name, 2, b"{")]
    records[1] = replace(records[1], key=NAME.encode())  # a wrong key
    headers = {NAME: TEXT.encode(), TRACEPARENT: b"00-" + NAME.encode()}
    records[2] = replace(records[2], headers={**records[2].headers, **headers})
    with processed(records, scrub(observer), observer) as broker:
        assert len(broker.committed["dead.letters"]) == 2
    hostile = (
        f"MSH|^~\\&|A|B|||20240314||ORU^R01|4829133|P|2.5\rPID|||{NAME}\r".encode()
    )
    routed(record_of(HL7_RAW.name, 0, hostile, key=NAME.encode()), observer)

    told = " ".join(each.to_json() for each in spans.get_finished_spans())
    assert len(spans.get_finished_spans()) > 12
    for marker in (NAME, NAME.encode().hex(), "4829133", "MRN", "note-0", "3/14"):
        assert marker not in told


def test_a_dead_letter_is_an_error_without_a_description(spans):
    observer = observer_of(spans)
    with processed([record_of(NOTES.name, 0, b"{")], scrub(observer), observer):
        pass

    [own] = named(spans, "process notes")
    assert own.attributes["phistream.dead_letter"]
    assert StatusCode.ERROR is own.status.status_code
    assert own.status.description is None
    assert own.events == ()


def test_a_batch_that_is_undone_has_spans_that_say_so(spans):
    observer = observer_of(spans)
    broker = LocalBroker(partitions=1)
    broker.logs[Partition("notes", 0)] = [note_of(0, SENDER)]
    broker.plan("commit", 1, RetriableError("planned"))
    runner = start(
        broker, scrub(observer), observer=observer, seal=observer.with_headers
    )
    while not broker.committed["notes.scrubbed"]:
        runner.run_once()

    failed, passed = named(spans, "process notes")
    assert failed.attributes["error.type"] == "RetriableError"
    assert "error.type" not in passed.attributes
    [written] = broker.committed["notes.scrubbed"]
    assert passed.context.span_id == parent_of(written).span_id
    assert len(named(spans, "commit")) == 1


def test_a_commit_links_to_a_bounded_number_of_records(spans):
    observer = observer_of(spans)
    records = [record_of(NOTES.name, n, b"{") for n in range(MAX_LINKS + 5)]
    with processed(records, scrub(observer), observer, max_records=500):
        pass

    [commit] = named(spans, "commit")
    assert len(commit.links) == MAX_LINKS
    assert commit.attributes["phistream.records"] == MAX_LINKS + 5


def test_rows_of_tables_have_no_header(spans):
    observer = observer_of(spans)
    record = note_of(0)
    observer.begun([record])
    row = Output("patients", b"k", b"{}", partition=0)
    assert observer.with_headers([row]) == [row]


def test_a_log_line_about_a_record_has_its_trace(spans):
    observer = observer_of(spans, ratio=0)
    handler = logging.StreamHandler(stream := io.StringIO())
    handler.setFormatter(JsonLines())
    log = logging.getLogger()
    log.addHandler(handler)
    try:
        with observer.lines_named():
            records = [note_of(0, SENDER), note_of(1)]
            observer.begun(records)
            log.error("%s: a line", records[0])
            log.error("a line about neither")
            observer.entered("decode", (records[0],))
            log.error("while it is decoded")
            observer.committed()
            log.error("%s: afterwards", records[0])
    finally:
        log.removeHandler(handler)

    lines = [orjson.loads(each) for each in stream.getvalue().splitlines()]
    trace = f"{0xABC:032x}"
    assert [each.get("trace_id") for each in lines] == [trace, None, trace, None]


@pytest.mark.parametrize(("parents", "carried"), [("trusted", True), ("linked", False)])
def test_without_spans_only_a_trusted_sender_is_carried_on(parents, carried):
    settings = Settings(traces=TraceSettings(parents=parents))
    source = record_of(HL7_RAW.name, 0, b"m", replace(SENDER, is_sampled=False))
    broken = replace(source, headers={TRACEPARENT: b"00-" + b"Q" * 52})
    with tracing("test", settings, Observer()) as made:
        [found] = made.with_headers([Output("notes", b"k", b"v", source=source)])
        [unread] = made.with_headers([Output("notes", b"k", b"v", source=broken)])

    assert carried == (TRACEPARENT in found.headers)
    assert TRACEPARENT not in unread.headers


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    settings = Settings(traces=TraceSettings(enabled=True))
    with (
        pytest.raises(ConfigError, match=r"phistream\[traces\]"),
        tracing("test", settings, Observer()),
    ):
        pass


def test_a_collector_that_fails_is_logged_once_and_without_what_it_says(caplog):
    class Failing:
        results = [SpanExportResult.FAILURE] * 2 + [ValueError(NAME)]

        def export(self, spans):
            result = self.results.pop(0) if self.results else SpanExportResult.SUCCESS
            if isinstance(result, Exception):
                raise result
            return result

    exporter = LoggedExporter(Failing())
    for _ in range(5):
        exporter.export([])

    assert len(caplog.records) == 2
    assert NAME not in caplog.text


def test_no_collector_neither_stops_nor_delays_the_loop():
    settings = Settings(
        traces=TraceSettings(
            enabled=True, ratio=1, queue_spans=64, timeout_seconds=0.1,
            endpoint="http://127.0.0.1:9/v1/traces",
        )
    )  # fmt: skip
    with exporting("test", settings) as tracer:
        observer = TraceObserver(tracer, settings.traces)
        records = [record_of(NOTES.name, n, b"{") for n in range(200)]
        with processed(records, scrub(observer), observer) as broker:
            assert len(broker.committed["dead.letters"]) == 200


def test_headers_for_the_collector_are_secret_and_checked():
    settings = load_settings(
        environment={"PHISTREAM_TRACES_HEADERS": "Authorization=Bearer%20ZZMARKER, a=b"}
    )
    assert "ZZMARKER" not in repr(settings)
    assert headers_of(settings) == {"authorization": "Bearer ZZMARKER", "a": "b"}

    for wrong in ("ZZMARKER", "ZZ MARKER=1", "a=%0d%0aZZMARKER"):
        settings = load_settings(environment={"PHISTREAM_TRACES_HEADERS": wrong})
        with pytest.raises(ConfigError, match="traces_headers") as caught:
            headers_of(settings)
        assert "MARKER" not in str(caught.value)


def test_the_variables_of_opentelemetry_fill_what_settings_leave_open():
    on = {"PHISTREAM_TRACES": '{"enabled": true}'}
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://otel:4318/"}
    own = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://traces/x"}

    def endpoint(*parts):
        environment = {k: v for part in parts for k, v in part.items()}
        return load_settings(environment=environment).traces.endpoint

    assert endpoint(on) == "http://127.0.0.1:4318/v1/traces"
    assert endpoint(on, base) == "https://otel:4318/v1/traces"
    assert endpoint(on, base, own) == "https://traces/x"
    assert endpoint(base, own) == ""  # no variable turns traces on
    given = {"PHISTREAM_TRACES": '{"enabled": true, "endpoint": "http://own/t"}'}
    assert endpoint(given, base, own) == "http://own/t"
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        endpoint(on, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "file:///etc"})
