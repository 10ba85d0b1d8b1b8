"""Mutated messages and documents of every format: no crash, no hang, nothing passes.

    python -m tests.benchmarks.fuzz [--format hl7|fhir|documents|json|ccda]
        [--inputs N] [--seed S] [--processes P] [--replay INDEX]

Each input is recognised, routed as intake does, opened as a document, and rebuilt by
the reader of its format.  A stand-in for the scrubber replaces the markers in free
texts; one input in 500 is scrubbed by the real one.  A fault is one of:

* crash: another exception than InvalidRecord, Unreadable or a refusal of the scrubber
* slow: more CPU time than the limit
* told: an exception, a repr or a count by place shows a marker
* passed: an output shows a marker, also encoded
* form: an output is not of its format, or a record breaks its schema
"""

from __future__ import annotations

import base64
import binascii
import html
import os
import re
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from deid_core import (
    Deidentifier,
    Document,
    Label,
    OffsetMap,
    OtherLanguage,
    ResidueFound,
    ScrubbedDocument,
)
from deid_core.config import OtherLanguages, load_preset
from deid_core.document import Row
from deid_core.policy import load_policy
from schemas.decoding import check_encoded
from streams.engine.errors import InvalidRecord
from streams.formats import Format, recognise
from streams.formats.documents import Unreadable, open_document
from streams.formats.hl7.message import delimiters_of, unescape
from streams.formats.readers import READERS, require_plain
from streams.kafka.topics import NOTES, PATIENT_UPDATES, Topic
from streams.model.parts import OpenedPart, Part, Rebuilt, Values
from streams.model.patients.known_identifiers import known_identifiers
from streams.model.patients.updates import PatientUpdate
from streams.pipeline.files.json_notes import for_topic
from streams.pipeline.intake.route import route
from streams.pipeline.publish import PatientValues, Pseudonyms
from tests.benchmarks.fuzz_inputs import FORMATS, Input, input_of, samples

KEY = b"0" * 32
CPU_SECONDS = 2.0
KILL_AFTER = 5
"""Limits of CPU time after which an input is given up."""
CHUNK = 250
REALLY_SCRUBBED = 500
MOST_SHOWN = 30
FAULTS = ("crash", "slow", "told", "passed", "form")
OUTCOMES = ("rebuilt", "opened", "routed", "refused", "unreadable", "held")
WIDTH = 130


class Hung(BaseException):
    """An input took so long that it was given up."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one input; it names no value of it."""

    kind: str
    format: str
    index: int
    what: str


@dataclass(slots=True)
class Tally:
    """What became of inputs, by format."""

    inputs: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, tuple[float, int]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally."""
        self.inputs += other.inputs
        self.outcomes += other.outcomes
        self.codes += other.codes
        self.seconds += other.seconds
        for name, each in other.slowest.items():
            self.slowest[name] = max(each, self.slowest.get(name, each))
        self.faults += other.faults

    def count(self, given: Input, outcome: str, code: str = "") -> None:
        """Count an outcome of one step."""
        self.outcomes[given.format, outcome] += 1
        if code:
            self.codes[given.format, f"{outcome}: {code}"] += 1

    def fault(self, given: Input, kind: str, what: str) -> None:
        """Keep a fault."""
        self.outcomes[given.format, kind] += 1
        self.faults.append(Fault(kind, given.format, given.index, what))


# --- stand-ins for the scrubber


class Hidden:
    """Values of a patient that are never shown."""

    def replaced(self, label: Label, value: str) -> str:
        return f"[{label}]"

    def day(self, day: str) -> str:
        return "2000-01-01"

    def pseudonym(self, kind: str, value: str) -> str:
        return "0" * 32

    def is_leak(self, written: str) -> bool:
        return False


def masked(text: str, markers: Sequence[str]) -> ScrubbedDocument:
    """Return a text in which markers are replaced, and nothing else."""
    rows: list[Row] = []
    written: list[str] = []
    at = size = 0
    for each in _pattern(markers).finditer(text) if markers else ():
        size += each.start() - at
        rows.append(Row(each.start(), each.end(), size, size + 3))
        written += [text[at : each.start()], "[X]"]
        at, size = each.end(), size + 3
    return ScrubbedDocument(
        "", "".join((*written, text[at:])), (), OffsetMap(tuple(rows))
    )


def _pattern(markers: Sequence[str]) -> re.Pattern[str]:
    # The real scrubber reads a text without them, too.
    within = ("\x00*".join(map(re.escape, each)) for each in markers)
    return re.compile("|".join(within), re.IGNORECASE)


@cache
def deidentifier() -> Deidentifier:
    """Return the real scrubber; it scrubs markers, too, which are no English."""
    preset = replace(load_preset("hybrid"), other_languages=OtherLanguages.MARK)
    return Deidentifier.from_config(preset, load_policy("surrogate"), KEY)


# --- steps


def check(given: Input, tally: Tally, cpu_seconds: float = CPU_SECONDS) -> None:
    """Take one input through all steps, and count what becomes of it."""
    tally.inputs[given.format] += 1
    began = time.process_time()
    checked = _Checked(given, tally)
    try:
        with _limit(cpu_seconds * KILL_AFTER):
            for step in checked.steps():
                checked.run(step)
    except Hung:
        where = traceback.extract_tb(sys.exc_info()[2])[-1]
        tally.fault(given, "slow", f"given up in {where.name}, {where.lineno}")
    except Exception as error:
        tally.fault(given, "crash", described(error))
    # What the checks of the fuzzer itself took is not that of the product.
    seconds = time.process_time() - began - checked.own_seconds
    tally.seconds[given.format] += seconds
    last = tally.slowest.get(given.format, (0.0, 0))
    tally.slowest[given.format] = max(last, (seconds, given.index))
    if seconds > cpu_seconds:
        tally.fault(given, "slow", f"{seconds:.1f} s of CPU time")


def described(error: BaseException) -> str:
    """Return the type of an exception, and where it was raised; not its message."""
    frames = traceback.extract_tb(error.__traceback__)
    where = frames[-1]
    for each in frames:
        if "/streams/" in each.filename and "/tests/" not in each.filename:
            where = each
    return f"{type(error).__name__} in {os.path.relpath(where.filename)}:{where.lineno}"


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _Checked:
    """One input on its way."""

    def __init__(self, given: Input, tally: Tally) -> None:
        self._given = given
        self._tally = tally
        self._shown = _pattern(given.markers) if given.markers else None
        self.own_seconds = 0.0

    def steps(self) -> list[Callable[[], None]]:
        """Return the steps of an input."""
        steps = [self._recognise, self._route, self._open]
        if self._given.format == "json":
            steps.append(self._file)
        if self._given.format in READERS:
            steps.append(self._rebuild)
        return steps

    def run(self, step: Callable[[], None]) -> None:
        """Run one step; refusals are outcomes."""
        given, tally = self._given, self._tally
        try:
            step()
        except InvalidRecord as error:
            tally.count(given, "refused", f"{step.__name__[1:]} {error.code}")
            self._untold(error, "a refusal")
        except Unreadable as error:
            tally.count(given, "unreadable", error.kind)
            self._untold(error, "a refusal")
        except (ResidueFound, OtherLanguage) as error:
            tally.count(given, "held", type(error).__name__)
            self._untold(error, "a refusal")
        except Exception as error:
            tally.fault(given, "crash", described(error))

    def _recognise(self) -> None:
        recognise(self._given.value)

    def _route(self) -> None:
        routed = route(self._given.value)
        self._tally.count(self._given, "routed")
        self._repr(routed, "Routed")
        with self._own_time():
            for update in routed.updates:
                self._schema(PATIENT_UPDATES, PatientUpdate(update).to_json())
            for note in routed.notes:
                self._schema(NOTES, note.to_json())
            for part in routed.parts:
                self._schema(NOTES, part.as_note("part").to_json())

    def _file(self) -> None:
        for_topic(self._given.value)

    def _open(self) -> None:
        document = open_document(self._given.value)
        self._repr(document, "the document")
        rebuilt = document.rebuilt(masked(document.text, self._given.markers))
        self._tally.count(self._given, "opened")
        self._repr(rebuilt, "the rebuilt document")
        self._not_passed(rebuilt.data, "the rebuilt document", rebuilt.media_type)

    def _rebuild(self) -> None:
        given = self._given
        reader = READERS[given.format]
        parts = reader.parts(given.value)
        for part in parts:
            self._repr(part, "Part")
            note = part.as_note("part")
            opened = reader.read(part.content)
            texts = opened.texts
            for each in texts:
                require_plain(each.text)
            scrubbed = [masked(each.text, given.markers) for each in texts]
            rebuilt = opened.rebuilt(scrubbed, Hidden())
            reader.text(rebuilt.value)
            self._repr((note, texts, rebuilt, *part.skipped), "Rebuilt")
            self._not_passed(rebuilt.value, "the rebuilt message", given.format)
            self._form(rebuilt)
            if given.index % REALLY_SCRUBBED == 0:
                self._really(opened, part)
        self._tally.count(given, "rebuilt")

    def _really(self, opened: OpenedPart, part: Part) -> None:
        """Scrub and rebuild a part as the service does."""
        rebuilt, known = really_rebuilt(opened, part)
        named = [each for each in self._given.markers if each in known]
        self._repr(rebuilt, "Rebuilt")
        # What is not in the record may be no identifier for the real scrubber.
        found = [
            each
            for each in named
            if _whole(each).search(rebuilt.value.decode("latin1"))
        ]
        if found:
            self._tally.fault(self._given, "passed", "the really scrubbed message")

    # --- checks

    @contextmanager
    def _own_time(self) -> Iterator[None]:
        began = time.process_time()
        try:
            yield
        finally:
            self.own_seconds += time.process_time() - began

    def _untold(self, error: BaseException | None, what: str) -> None:
        while error is not None:
            self._told(f"{error!r} {error}", what)
            hidden = None if error.__suppress_context__ else error.__context__
            error = error.__cause__ or hidden

    def _repr(self, value: object, what: str) -> None:
        with self._own_time():
            self._told(repr(value), f"the repr of {what}")

    def _told(self, text: str, what: str) -> None:
        if self._shown and self._shown.search(text):
            self._tally.fault(self._given, "told", what)

    def _not_passed(self, value: bytes, what: str, format_: str) -> None:
        shown = self._shown
        if shown is None:
            return
        with self._own_time():
            if any(shown.search(each) for each in views(value, format_)):
                self._tally.fault(self._given, "passed", what)

    def _form(self, rebuilt: Rebuilt) -> None:
        try:
            found: Format | None = recognise(rebuilt.value)
        except InvalidRecord:
            found = None
        if found != self._given.format:
            self._tally.fault(self._given, "form", f"rebuilt as {found}")

    def _schema(self, topic: Topic, value: dict[str, Any]) -> None:
        schema = topic.schema
        try:
            check_encoded(schema, orjson.dumps(schema.versioned(value)))
        except Exception as error:
            what = f"{topic.name}: {type(error).__name__}"
            self._tally.fault(self._given, "form", what)


def really_rebuilt(opened: OpenedPart, part: Part) -> tuple[Rebuilt, str]:
    """Return a part as scrub rebuilds it, and the names and numbers of the patient."""
    system = deidentifier()
    record = part.updates[0]
    known = known_identifiers(record)
    key = record.patient.key.decode()
    scrubbed = [
        system.deidentify(Document("", each.text, known, key, each.note_type))
        for each in opened.texts
    ]
    values: Values = PatientValues(
        system, Document("", "", known, key), Pseudonyms(KEY)
    )
    names = (f"{each.family} {each.given}" for each in record.current.names)
    ids = (each.value for each in record.current.ids)
    return opened.rebuilt(scrubbed, values), " ".join((*names, *ids))


def _whole(marker: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![0-9A-Za-z]){re.escape(marker)}(?![0-9A-Za-z])")


_BASE64 = re.compile(r"[A-Za-z0-9+/]{64,}={0,2}")
"""As long as `streams.formats.documents.content` takes for an encoded document."""
_MARKUP = re.compile(r"\s*<")
_DIV = re.compile(r"<div\b.*?</div>", re.DOTALL)


def views(value: bytes, format_: str) -> Iterator[str]:
    """Yield an output as those may read it who undo its encodings.

    Entities are undone in markup only: they mean nothing in other texts.
    """
    text = _plain(value)
    yield text
    if format_ in ("text/html", "ccda"):
        yield html.unescape(text)
    if format_ == "hl7":
        yield unescape(text, delimiters_of(text))
    if format_ == "fhir":
        text = "\n".join(_strings(orjson.loads(value)))
        yield text
        yield html.unescape("\n".join(_DIV.findall(text)))
    for each in _BASE64.findall(text):
        with suppress(binascii.Error):
            inner = _plain(base64.b64decode(each[: len(each.rstrip("=")) // 4 * 4]))
            yield inner
            if _MARKUP.match(inner):
                yield html.unescape(inner)


def _plain(value: bytes) -> str:
    return value.replace(b"\x00", b"").decode("latin-1")


def _strings(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for each in tree:
            yield from _strings(each)
    elif isinstance(tree, dict):
        yield from tree
        yield from _strings([*tree.values()])


# --- runs


def run(
    seed: int, indices: range, format_: str | None, cpu_seconds: float = CPU_SECONDS
) -> Tally:
    """Check a range of inputs."""
    tally = Tally()
    for index in indices:
        check(input_of(seed, index, format_), tally, cpu_seconds)
    return tally


def warm() -> None:
    """Load what the first input would load."""
    deidentifier().deidentify(Document("", "Seen by Dr. Smith."))
    for each in FORMATS:
        samples(each)
        run(0, range(3), each)


def run_all(
    seed: int, inputs: int, format_: str | None, processes: int, console: Console
) -> Tally:
    """Check all inputs in several processes."""
    left = iter(range(0, inputs, CHUNK))
    tally = Tally()
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    with (
        ProcessPoolExecutor(processes, initializer=warm) as pool,
        Progress(*columns, TimeRemainingColumn(), console=console) as progress,
    ):
        task = progress.add_task("inputs", total=inputs)
        running: dict[Any, int] = {}
        while True:
            while len(running) < 2 * processes and (at := next(left, None)) is not None:
                indices = range(at, min(inputs, at + CHUNK))
                running[pool.submit(run, seed, indices, format_)] = at
            if not running:
                return tally
            for each in wait(running, return_when=FIRST_COMPLETED).done:
                at = running.pop(each)
                tally.add(each.result())
                progress.update(
                    task,
                    advance=min(CHUNK, inputs - at),
                    description=f"inputs, {len(tally.faults)} faults",
                )


def table_of(tally: Tally) -> Table:
    """Return a row for each format and for all."""
    table = Table(title="Mutated inputs, by format and outcome of each step")
    table.add_column("format")
    names = ("inputs", *OUTCOMES, *FAULTS, "mean ms", "max s")
    for name in names:
        table.add_column(name, justify="right")
    for name in sorted(tally.inputs):
        inputs = tally.inputs[name]
        slowest, _ = tally.slowest[name]
        table.add_row(
            name,
            str(inputs),
            *(str(tally.outcomes[name, each]) for each in (*OUTCOMES, *FAULTS)),
            f"{1000 * tally.seconds[name] / inputs:.2f}",
            f"{slowest:.2f}",
        )
    everything: Counter[str] = Counter()
    for (_, outcome), number in tally.outcomes.items():
        everything[outcome] += number
    table.add_section()
    table.add_row(
        "all",
        str(tally.inputs.total()),
        *(str(everything[each]) for each in (*OUTCOMES, *FAULTS)),
        f"{1000 * sum(tally.seconds.values()) / max(tally.inputs.total(), 1):.2f}",
        "",
    )
    return table


def print_faults(tally: Tally, seed: int, console: Console) -> None:
    """Print faults by what they are, each with inputs to replay."""
    by_kind: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for each in tally.faults:
        by_kind[each.kind, each.format, each.what].append(each.index)
    found = sorted(by_kind.items(), key=lambda row: -len(row[1]))
    for (kind, name, what), indices in found[:MOST_SHOWN]:
        some = " ".join(map(str, sorted(indices)[:3]))
        console.print(
            f"{kind} ({len(indices)}): {what}; "
            f"--format {name} --seed {seed} --replay {some}",
            highlight=False,
            soft_wrap=True,
        )


def main(
    format_: Annotated[str, typer.Option("--format", help="Only this one.")] = "",
    inputs: Annotated[int, typer.Option(min=1, help="How many.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 1,
    processes: Annotated[int, typer.Option(min=1)] = os.cpu_count() or 1,
    replay: Annotated[int, typer.Option(help="Check this input only.")] = -1,
    write: Annotated[str, typer.Option(help="Write the replayed input here.")] = "",
) -> None:
    """Print a table by format and outcome; fail if there is a fault."""
    console = Console()
    console = Console(width=max(console.width, WIDTH))
    if format_ and format_ not in FORMATS:
        console.print(f"no such format; there are {', '.join(FORMATS)}")
        raise typer.Exit(2)
    if replay >= 0:
        given = input_of(seed, replay, format_ or None)
        if write:
            with open(write, "wb") as file:
                file.write(given.value)
            console.print(f"markers: {' '.join(given.markers)}")
        warm()
        tally = Tally()
        check(given, tally)
        console.print(dict(tally.outcomes), dict(tally.codes), tally.faults)
        raise typer.Exit(1 if tally.faults else 0)
    began = time.monotonic()
    tally = run_all(seed, inputs, format_ or None, processes, console)
    seconds = time.monotonic() - began
    console.print(table_of(tally))
    for (name, code), number in sorted(tally.codes.items()):
        console.print(f"{name}: {code}: {number}", highlight=False)
    print_faults(tally, seed, console)
    console.print(
        f"{inputs} inputs with seed {seed}, {inputs / seconds:.0f} inputs/s in "
        f"{processes} processes, {len(tally.faults)} faults; "
        f"without a reader: {sorted({*FORMATS} - {*READERS, 'documents', 'json'})}"
    )
    raise typer.Exit(1 if tally.faults else 0)


if __name__ == "__main__":
    typer.run(main)
