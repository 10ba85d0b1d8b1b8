"""Processor time of intake, by step: microseconds a message.

    python -m tests.benchmarks.intake --messages 1500 --kafka

ADT and ORU messages of about 1.5 kB of the demo ward, and the real messages of FILE,
which has a JSON object per line with the property ``message``.  A field is split when
it is first read, so that this counts as demographics or narrative.  Every column is
measured in new processes, which see each message once; the least of several counts.
Every set is read twice: with fields split by python-hl7, the reference, and as intake
does.  With ``--kafka`` a worker reads the messages from a new broker as well: its whole
processor time, Kafka's client and transactions included.  A second worker looks for
repeated messages (``repeated_seconds``), and then reads all of them once more.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Annotated, NamedTuple, TypeVar

import orjson
import typer
from rich.console import Console
from rich.table import Table

from streams.demo import segments
from streams.demo.people import WardPatient
from streams.demo.segments import Stamp, segment, ts, xad, xcn, xpn, xtn
from streams.demo.ward import EPOCH, Ward
from streams.engine import gc_tuning
from streams.engine.errors import InvalidRecord
from streams.engine.records import Output, Partition, Record
from streams.formats.hl7.demographics import PatientGroup, patient_groups
from streams.formats.hl7.framing import messages_of
from streams.formats.hl7.message import Segment, parse, parse_by_python_hl7
from streams.formats.hl7.message_types import event_of
from streams.formats.hl7.narrative import narrative_of
from streams.formats.hl7.reader import WANTED, Hl7Reader, Parse
from streams.formats.hl7.sender import sender_key
from streams.kafka.topics import NOTES, PATIENT_UPDATES, Stage
from streams.model.audit import AuditEvent
from streams.model.outputs import encoded
from streams.model.patients.updates import PatientUpdate
from streams.pipeline.files.feed import RawMessage
from streams.pipeline.intake.route import Routed, route
from tests.benchmarks.cluster import benchmark_settings
from tests.harness import feed_and_drain_intake, running, worker_processes

FILE = Path(__file__).parents[3] / "shared/data/hl7/messages.jsonl"
SOURCE = Record(Partition("hl7.raw", 0), 1, None, None)
ROUNDS = 3
WARM = 50
WIDTH = 112
REMEMBERED = 86_400
NOTE_WORDS = 78
VITALS = (
    ("8867-4^Heart rate^LN", "84", "/min"),
    ("8310-5^Body temperature^LN", "38.4", "Cel"),
    ("9279-1^Respiratory rate^LN", "22", "/min"),
    ("59408-5^Oxygen saturation^LN", "94", "%"),
    ("8480-6^Systolic blood pressure^LN", "134", "mm[Hg]"),
    ("8462-4^Diastolic blood pressure^LN", "82", "mm[Hg]"),
)
WHOLE = "all in one"
READER = "(scrub: JSON, schema)"
PARSERS = {"python-hl7": parse_by_python_hl7, "intake": parse}

T = TypeVar("T")
R = TypeVar("R")
Costs = dict[str, float]
"""Seconds a message, by step."""


def adt_messages(count: int, seed: int) -> list[bytes]:
    """Return admissions, with diagnosis, guarantor, insurance and vital signs."""
    return [admission(each) for each in Ward(seed=seed, patients=count).people]


def admission(person: WardPatient) -> bytes:
    at = datetime(EPOCH.year, EPOCH.month, EPOCH.day) + timedelta(minutes=person.index)
    site, stamp = person.site, Stamp(f"B{person.index:07}", at)
    kin = [segments.nk1(n, k, site.version) for n, k in enumerate(person.kin, start=1)]
    vitals = [
        segment("OBX", {1: str(n), 2: "NM", 3: code, 5: value, 6: unit, 11: "F"})
        for n, (code, value, unit) in enumerate(VITALS, start=1)
    ]
    rows = [
        segments.evn("A01", site, stamp),
        segments.pid(person, person.mrn),
        segments.pd1(person),
        *kin,
        segments.pv1(person, stamp, "I"),
        segment("PV2", {3: "^Shortness of breath", 8: ts(at), 9: ts(at)}),
        *vitals,
        segment("AL1", {1: "1", 2: "DA", 3: "^Penicillin", 4: "MO", 5: "Hives"}),
        segment("DG1", {1: "1", 3: "J18.9^Pneumonia^I10", 16: xcn(person.attending)}),
        guarantor(person),
        insurance(person),
    ]
    return segments.message(("ADT", "A01", "ADT_A01"), site, stamp, rows)


def guarantor(person: WardPatient) -> str:
    fields = {
        1: "1",
        3: xpn(person.kin[0].name),
        5: xad(person.address),
        6: xtn(person.kin[0].phone, person.site.version),
        11: "SPO",
        16: "Example Works",
    }
    return segment("GT1", fields)


def insurance(person: WardPatient) -> str:
    fields = {
        1: "1",
        2: "PPO",
        3: "4711",
        4: "Example Mutual",
        11: "Example Works",
        16: xpn(person.name),
        17: "SEL",
        18: ts(person.birth),
        19: xad(person.address),
        36: f"X{person.account}",
    }
    return segment("IN1", fields)


def oru_messages(count: int, seed: int) -> list[bytes]:
    """Return reports as the ward writes them."""
    ward = Ward(seed=seed, patients=count, note_words=NOTE_WORDS)
    return [each.value for each in ward.notes(3 * count) if each.kind == "oru"][:count]


def real_messages(file: Path) -> list[bytes]:
    with file.open() as lines:
        return [json.loads(line)["message"].encode() for line in lines]


class Stopwatch:
    """Applies a step to all messages; refused ones are left out of later steps."""

    def __init__(self, messages: int) -> None:
        self.costs: Costs = Counter()
        self._messages = messages

    def timed(self, step: str, do: Callable[[T], R], given: Sequence[T]) -> list[R]:
        results = []
        began = time.process_time()
        for each in given:
            try:
                results.append(do(each))
            except InvalidRecord:
                continue
        self.costs[step] += (time.process_time() - began) / self._messages
        return results


def groups_of(parsed: list[Segment]) -> tuple[list[Segment], list[PatientGroup]]:
    msh, *rest = parsed
    authority = msh.value(4) or msh.value(4, 2)
    return parsed, patient_groups(rest, authority, msh.value(4))


def narratives_of(found: tuple[list[Segment], list[PatientGroup]]) -> int:
    (msh, *rest), groups = found
    evn = next((each for each in rest if each.name == "EVN"), None)
    event = event_of(msh, evn)
    narratives = [narrative_of(each, event, msh.value(10), "", "0") for each in groups]
    return sum(len(each.notes) for each in narratives)


def outputs_of(routed: Routed) -> list[Output]:
    updates = [
        encoded(
            PATIENT_UPDATES, each.patient.key, PatientUpdate(each).to_json(), SOURCE
        )
        for each in routed.updates
    ]
    notes = [
        encoded(NOTES, each.patient.key, each.to_json(), SOURCE)
        for each in routed.notes
    ]
    return updates + notes


def audit_of(routed: Routed) -> Output:
    counts = {
        "patients": len(routed.updates),
        "notes": len(routed.notes),
        "skipped": dict(routed.skipped),
    }
    event = AuditEvent(
        stage=Stage.INTAKE,
        outputs=len(routed.notes),
        outcome="routed",
        routed=counts,
        at_ms=0,
    )
    return event.output(SOURCE)


def check(outputs: list[Output]) -> None:
    for each in outputs:
        topic = NOTES if each.topic == NOTES.name else PATIENT_UPDATES
        topic.schema.check(orjson.loads(each.value))


def costs_by_step(values: list[bytes], parse: Parse) -> Costs:
    """Return what each step costs; framing is that of the whole record."""
    watch = Stopwatch(len(values))
    texts = watch.timed("framing", messages_of, values)
    flat = [text for each in texts for text in each]
    parsed = watch.timed("parse", lambda text: parse(text, WANTED), flat)
    groups = watch.timed("demographics", groups_of, parsed)
    watch.timed("narrative", narratives_of, groups)
    reader = Hl7Reader(parse=parse)
    routed = Stopwatch(1).timed("", lambda value: route(value, reader=reader), values)
    outputs = watch.timed("encoding", outputs_of, routed)
    watch.timed("audit event", audit_of, routed)
    watch.timed(READER, check, outputs)
    return watch.costs


def costs_of_whole(values: list[bytes], parse: Parse) -> Costs:
    """Return what intake costs, with garbage as in a worker."""
    reader = Hl7Reader(parse=parse)

    def outputs(value: bytes) -> tuple[list[Output], Output]:
        routed = route(value, reader=reader)
        return outputs_of(routed), audit_of(routed)

    watch = Stopwatch(len(values))
    for each in values:
        watch.timed(WHOLE, outputs, [each])
    return watch.costs


class Job(NamedTuple):
    """What a process measures."""

    measure: Callable[[list[bytes], Parse], Costs]
    values: list[bytes]
    parse: Parse


def measured(job: Job) -> Costs:
    """Measure in a process that has seen some messages, but none of these."""
    job.measure(job.values[:WARM], job.parse)
    gc_tuning.settle()
    return job.measure(job.values[WARM:], job.parse)


def least_costs(values: list[bytes], parse: Parse) -> Costs:
    """Return the least costs of several new processes."""
    context = multiprocessing.get_context("spawn")
    measures = (costs_by_step, costs_of_whole) * ROUNDS
    jobs = [Job(each, values, parse) for each in measures]
    found: Costs = {}
    with context.Pool(1, maxtasksperchild=1) as pool:
        for costs in pool.imap(measured, jobs):
            for step, seconds in costs.items():
                found[step] = min(seconds, found.get(step, seconds))
    return found


def costs_with_kafka(sets: dict[str, list[bytes]], remembered: int = 0) -> Costs:
    """Return the whole processor time of a worker a message, by set.

    Args:
        sets: Of messages.
        remembered: The setting ``repeated_seconds``; if it is on, each set is read
            twice, the second time as repetitions.
    """
    found: Costs = {}
    with benchmark_settings() as settings:
        settings = settings.model_copy(update={"repeated_seconds": remembered})
        with running(settings, "intake") as services:

            def feed(values: list[bytes]) -> None:
                raw = (RawMessage(value, sender_key(value), {}) for value in values)
                feed_and_drain_intake(settings, services, raw)

            def cost(values: list[bytes]) -> float:
                (worker,) = worker_processes(services[0])
                before = worker.cpu_times()
                feed(values)
                after = worker.cpu_times()
                seconds = after.user + after.system - before.user - before.system
                return seconds / len(values)

            for name, values in sets.items():
                feed(values[:WARM])
                if not remembered:
                    found[name] = cost(values[WARM:])
                    continue
                found[f"{name}, looked for repetitions"] = cost(values[WARM:])
                found[f"{name}, all repeated"] = cost(values[WARM:])
    return found


def table_of(columns: dict[str, Costs]) -> Table:
    grid = Table(title="CPU microseconds a message, intake without Kafka")
    grid.add_column("step")
    for name in columns:
        grid.add_column(name, justify="right")
    for step in next(iter(columns.values())):
        grid.add_row(step, *(f"{each[step] * 1e6:,.0f}" for each in columns.values()))
    grid.add_section()
    rates = (f"{1 / each[WHOLE]:,.0f}" for each in columns.values())
    grid.add_row("messages a CPU second", *rates)
    return grid


def sets_of(count: int, seed: int, file: Path) -> dict[str, list[bytes]]:
    sets = {"ADT": adt_messages(count, seed), "ORU": oru_messages(count, seed)}
    if file.is_file():
        sets["real"] = real_messages(file)
    return {
        f"{len(values):,} {name} of {mean(map(len, values)) / 1000:.1f} kB": values
        for name, values in sets.items()
    }


def main(
    file: Annotated[Path, typer.Argument(help="A JSON object per line.")] = FILE,
    messages: Annotated[int, typer.Option(help="Of each kind.")] = 1500,
    seed: Annotated[int, typer.Option(help="Seed of the ward.")] = 3,
    kafka: Annotated[bool, typer.Option(help="Measure a worker, too.")] = False,
) -> None:
    """Print the table."""
    sets = sets_of(messages, seed, file)
    columns = {
        f"{name}, {how}": least_costs(values, parser)
        for name, values in sets.items()
        for how, parser in PARSERS.items()
    }
    console = Console()
    console = Console(width=max(console.width, WIDTH))
    console.print(table_of(columns))
    if not kafka:
        return
    for name, seconds in (
        costs_with_kafka(sets) | costs_with_kafka(sets, REMEMBERED)
    ).items():
        console.print(
            f"{name}: {seconds * 1e6:,.0f} us of a worker with Kafka, "
            f"{1 / seconds:,.0f} messages a CPU second"
        )


if __name__ == "__main__":
    typer.run(main)
