"""Compare every output of two versions of the service, byte by byte.

    python -m tests.benchmarks.golden_ward write FILE     (in the version before)
    python -m tests.benchmarks.golden_ward compare FILE   (in the one to check)

The file holds some 300 messages of all formats, so that both versions see the same, and
digests of each output: of the key, the headers and the value of every record that both
stages write, of the files of ``scrub --out``, and of the gateway's answers.  Keys and
clock are fixed, and a stand-in for the privacy office seals without chance.  Stages are
driven as functions of their records; their tables are in memory.

It prints which outputs differ, by topic and message number, and never their contents.
"Other than in versions" leaves out what follows from a schema's number alone: the
number, the header `schema`, and the seals.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console

from deid_core import Deidentifier
from streams.demo.ward import Ward
from streams.engine.errors import InvalidRecord
from streams.engine.keys.ring import PseudonymKey, PseudonymKeys
from streams.engine.records import Output, Partition, Record
from streams.formats import Format, recognise
from streams.formats.hl7.sender import sender_key
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import HL7_RAW, NOTES, PATIENT_UPDATES
from streams.model.seals import SEAL, Seals, audit_key
from streams.pipeline.intake.deduplicating import DeduplicatingIntake
from streams.pipeline.scrub.held import UnknownPatients
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.processor import Scrub
from tests.benchmarks.fuzz_inputs import FORMATS, PLACE, REAL_HL7, input_of, samples
from tests.commands import phistream
from tests.streams.formats.hl7.hl7_text import message
from tests.streams.products.gateway.serving import Gateway, serving
from tests.tables import MemoryTable

PARTITIONS = 4
BATCH = 16
BEGIN_MS = 1_741_946_400_000
APART_MS = 1000
KEYS = (bytes(range(32)), bytes(range(32, 64)))
ROTATED_AT = 150
"""The number of the first message that has the second key."""
WINDOW_MS = 3_600_000
POLICIES = {"surrogate": "wait", "safe-harbor": "scrub"}
"""Policies, each with one for patients of whom no name is known."""
OF_THE_WARD, REAL, MUTATED = 110, 80, 8
FROM_VERSIONS = re.compile(rb'"digests":\{.*\}(?=\}$)|"schema_version\\?":\d+')
"""What follows from the number of a schema: itself, and digests of an audit event."""
MEDIA_TYPES = {
    Format.RTF: "application/rtf",
    Format.HTML: "text/html",
    Format.PDF: "application/pdf",
    Format.TEXT: "text/plain",
}
PATHS = {
    Format.HL7: ("/v1/messages", "x-application/hl7-v2+er7"),
    Format.FHIR: ("/v1/fhir", "application/fhir+json"),
    Format.CCDA: ("/v1/ccda", "application/xml"),
    Format.JSON: ("/v1/notes", "application/json"),
    Format.JSONL: ("/v1/notes:batch", "application/x-ndjson"),
    **{name: ("/v1/documents", kind) for name, kind in MEDIA_TYPES.items()},
}
OTHER = PATHS[Format.HL7]
SHOWN = 12
WIDTH = 120

app = typer.Typer(add_completion=False)
console = Console()
console = Console(width=max(console.width, WIDTH))

Digests = dict[str, list[Sequence[str | int]]]
"""By output: message number, and digests of the whole, of parts, of the rest."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent to every entrance of the service."""

    value: bytes | None = field(repr=False)
    headers: Mapping[str, bytes] = field(default_factory=dict)


@app.command()
def write(file: Annotated[Path, typer.Argument(help="To be written.")]) -> None:
    """Write the messages and what this version makes of them."""
    messages = [*_of_the_ward(), *_samples(), *_real(), *_documents(), *_mutated()]
    messages.append(_leaking())
    # A message that is sent once more is no note once more.
    messages.append(messages[0])
    outputs = _outputs(messages)
    rows = [_row(each) for each in messages]
    file.write_text(json.dumps({"messages": rows, "outputs": outputs}))
    count = sum(map(len, outputs.values()))
    console.print(f"{len(messages)} messages, {count} outputs: {file}")


@app.command()
def compare(file: Annotated[Path, typer.Argument(help="Written before.")]) -> None:
    """Print how many outputs differ from those in the file; ends with 1 if any."""
    read = json.loads(file.read_text())
    before, now = read["outputs"], _outputs([_message(row) for row in read["messages"]])
    is_same = True
    for name in sorted({*before, *now}):
        is_same = _compared(name, before.get(name, []), now.get(name, [])) and is_same
    raise typer.Exit(0 if is_same else 1)


def _compared(
    name: str, before: Sequence[Sequence[Any]], now: Sequence[Sequence[Any]]
) -> bool:
    """Print how many outputs of one name differ; return whether none does."""
    pairs = [
        (number, pair)
        for number, outputs in _by_number(before, now).items()
        for pair in outputs
    ]
    differing = [(number, pair) for number, pair in pairs if pair[0] != pair[1]]
    other = [number for number, (a, b) in differing if not a or not b or a[-1] != b[-1]]
    parts = Counter(
        part
        for _, (a, b) in differing
        for part, one, another in zip(PARTS, a, b, strict=False)
        if one != another
    )
    line = f"{name}: {len(differing)} of {len(pairs)} differ"
    if differing:
        numbers = sorted({number for number, _ in differing})
        line += f", {len(other)} other than in versions; {dict(parts)}; messages "
        line += " ".join(map(str, numbers[:SHOWN]))
    console.print(line, highlight=False)
    return not differing


def _by_number(
    before: Sequence[Sequence[Any]], now: Sequence[Sequence[Any]]
) -> Mapping[int, list[tuple[Sequence[str], Sequence[str]]]]:
    """Return pairs of outputs by message; what one version lacks is empty there."""
    sides: dict[int, tuple[list[Sequence[str]], list[Sequence[str]]]]
    sides = defaultdict(lambda: ([], []))
    for side, rows in enumerate((before, now)):
        for number, *digests in rows:
            sides[number][side].append(digests)
    found = {}
    for number, (old, new) in sides.items():
        length = max(len(old), len(new))
        padded = [side + [[]] * (length - len(side)) for side in (old, new)]
        found[number] = [*zip(*padded, strict=True)]
    return found


def _row(sent: Message) -> dict[str, Any]:
    return {
        "value": _text(sent.value),
        "headers": {name: _text(raw) for name, raw in sent.headers.items()},
    }


def _message(row: Mapping[str, Any]) -> Message:
    headers = {name: _bytes(raw) or b"" for name, raw in row["headers"].items()}
    return Message(_bytes(row["value"]), headers)


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


# --- messages


def _of_the_ward() -> Iterator[Message]:
    ward = Ward(seed=11, patients=40, note_words=90)
    for sent in (*ward.admissions(), *ward.messages(OF_THE_WARD)):
        yield Message(sent.value, sent.headers)


def _samples() -> Iterator[Message]:
    for name in FORMATS:
        for value in samples(name)[: None if name != "hl7" else 9]:
            yield Message(value.replace(PLACE.encode(), b"Edith"))


def _real() -> Iterator[Message]:
    """Yield a message of each type, where the collection of real ones is there."""
    by_type: dict[str, str] = {}
    lines = REAL_HL7.read_text("utf-8").splitlines() if REAL_HL7.is_file() else ()
    for line in lines:
        text = json.loads(line)["message"]
        fields = text.split("\r")[0].split("|")
        by_type.setdefault(fields[8] if len(fields) > 8 else "", text)
    for text in [*by_type.values()][:REAL]:
        yield Message(text.encode())


def _documents() -> Iterator[Message]:
    """Yield documents within messages."""
    kinds = ("RTF", "HTML", "PDF", "TEXT")
    for kind, content in zip(kinds, samples("documents"), strict=False):
        data = base64.b64encode(content.replace(PLACE.encode(), b"Alt")).decode()
        row = f"OBX|1|ED|11506-3^Progress note^LN||^application^{kind}^Base64^{data}"
        yield Message(message(f"{row}||||||F"))
        resource = {
            "resourceType": "DocumentReference",
            "status": "current",
            "subject": {"reference": "Patient/p-1"},
            "content": [{"attachment": {"data": data}}],
        }
        yield Message(orjson.dumps(resource))


def _leaking() -> Message:
    """Return a note that scrub refuses: its type holds the patient's name."""
    event = {
        "schema_version": 1,
        "note_id": "leaking",
        "patient": {"assigning_authority": "WARD", "id": "leaking"},
        "note_type": "Quellwright",
        "text": "She is well.",
        "demographics": {"names": [{"family": "Quellwright", "given": "Mabelle"}]},
    }
    return Message(orjson.dumps(event))


def _mutated() -> Iterator[Message]:
    for name in FORMATS:
        for index in range(MUTATED):
            yield Message(input_of(7, index, name).value)


# --- outputs


def _outputs(messages: Sequence[Message]) -> Digests:
    """Return the digests of all outputs, by entrance and topic or path."""
    logging.disable(logging.ERROR)
    found: Digests = defaultdict(list)
    for policy, unknown in POLICIES.items():
        for number, output in _Service(policy, unknown).outputs(messages):
            found[f"stream, {policy}, {output.topic}"].append(_digests(number, output))
    with tempfile.TemporaryDirectory(prefix="phistream-golden-") as folder:
        key_file = Path(folder, "key")
        key_file.write_text(KEYS[0].hex())
        key_file.chmod(0o600)
        for policy in POLICIES:
            found[f"scrub --out, {policy}"] = [
                (number, *_whole(written))
                for number, written in _files(
                    Path(folder, policy), policy, key_file, messages
                )
            ]
        for path, number, answer in _answers(Path(folder), key_file, messages):
            found[f"gateway, {path}"].append((number, *_whole(answer)))
    return found


PARTS = ("key", "headers", "value")


def _digests(number: int, output: Output) -> Sequence[str | int]:
    headers = dict(output.headers)
    parts = (output.key, orjson.dumps(_shown(headers), option=orjson.OPT_SORT_KEYS))
    rest = {n: raw for n, raw in headers.items() if n not in (SEAL, "schema")}
    value = output.value
    content = None if value is None else FROM_VERSIONS.sub(b"", value)
    without = [output.key, orjson.dumps(_shown(rest), option=orjson.OPT_SORT_KEYS)]
    return (
        number,
        *(_digest(part) for part in (*parts, value)),
        _digest(b"\0".join(part or b"-" for part in (*without, content))),
    )


def _shown(headers: Mapping[str, bytes]) -> dict[str, str]:
    return {name: raw.decode("latin-1") for name, raw in headers.items()}


def _whole(content: bytes) -> Sequence[str]:
    return ("", "", _digest(content), _digest(content))


def _digest(content: bytes | None) -> str:
    return "-" if content is None else sha256(content).hexdigest()[:16]


class _Office:
    """Stands in for the privacy office: it seals without chance.

    What the content is bound to has the version of the letter, which is compared there.
    """

    id = "0" * 16

    def seal(self, content: bytes, bound: bytes) -> bytes:
        return sha256(FROM_VERSIONS.sub(b"", bound)).digest() + content


class _Service:
    """Both stages, and the topics between them.

    Args:
        policy: Of replacement.
        unknown: What becomes of notes of whose patient no name is known.
    """

    def __init__(self, policy: str, unknown: Any) -> None:
        rotated = BEGIN_MS + ROTATED_AT * APART_MS
        keys = PseudonymKeys([PseudonymKey(KEYS[0]), PseudonymKey(KEYS[1], rotated)])
        self._now_ms = BEGIN_MS
        self._seals = Seals(audit_key(KEYS[0]))
        self._ends: Counter[Partition] = Counter()
        self._numbers: dict[tuple[Partition, int], int] = {}
        common: dict[str, Any] = {"office": _Office(), "clock": self._clock}
        self._intake = DeduplicatingIntake(
            MemoryTable(),
            keys,
            window_ms=WINDOW_MS,
            partitions=PARTITIONS,
            max_bytes=1 << 20,
            rebuilds=True,
            **common,
        )
        self._scrub = Scrub(
            lambda: Deidentifier.from_names("hybrid", policy, KEYS[0]),
            MemoryTable(),
            MemoryTable(),
            UnknownPatients(policy=unknown),
            ScrubOutputs(keys, preset="hybrid", policy=policy),
            PARTITIONS,
            max_bytes=1 << 20,
            max_message_bytes=2 << 20,
            **common,
        )
        self._scrub.settled(range(PARTITIONS))

    def outputs(self, messages: Sequence[Message]) -> Iterator[tuple[int, Output]]:
        """Yield every output with the number of its message."""
        for start in range(0, len(messages), BATCH):
            records = [
                self._received(number, messages[number])
                for number in range(start, min(start + BATCH, len(messages)))
            ]
            written = [*self._written(self._intake, records)]
            yield from written
            yield from self._scrubbed(self._placed(written))
        self._now_ms += WINDOW_MS
        while written := [*self._due()]:
            yield from written
            yield from self._scrubbed(self._placed(written))

    def _clock(self) -> float:
        return self._now_ms / 1000

    def _received(self, number: int, sent: Message) -> Record:
        self._now_ms = at_ms = BEGIN_MS + number * APART_MS
        key = sender_key(sent.value) or b"ward"
        place = Partition(HL7_RAW.name, partition_of(key, PARTITIONS))
        offset = self._next(place, number)
        return Record(place, offset, key, sent.value, sent.headers, at_ms)

    def _next(self, place: Partition, number: int) -> int:
        offset = self._ends[place]
        self._ends[place] += 1
        self._numbers[place, offset] = number
        return offset

    def _number(self, record: Record | None) -> int:
        return -1 if record is None else self._numbers[record.partition, record.offset]

    def _scrubbed(self, records: Sequence[Record]) -> Iterator[tuple[int, Output]]:
        # The updates of a partition come before its notes.
        ordered = sorted(records, key=lambda r: r.partition.topic == NOTES.name)
        if ordered:
            yield from self._written(self._scrub, ordered)
        released = [*self._due()]
        yield from released
        if released:
            yield from self._scrubbed(self._placed(released))

    def _written(
        self, stage: Any, records: Sequence[Record]
    ) -> Iterator[tuple[int, Output]]:
        """Yield what a stage writes of a batch, which it then commits."""
        outcomes = stage.process(records)
        ends: dict[Partition, int] = {}
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, InvalidRecord):
                outcome = stage.dead_letter(record, outcome)
            for output in self._seals.sealed(outcome):
                ends |= _end(output)
                yield self._number(record), output
        stage.committed(ends)

    def _due(self) -> Iterator[tuple[int, Output]]:
        due = self._scrub.due(range(PARTITIONS))
        ends: dict[Partition, int] = {}
        for unsealed in due.values():
            for output in self._seals.sealed(unsealed):
                ends |= _end(output)
                yield self._number(output.source), output
        if due:
            self._scrub.committed(ends)

    def _placed(self, written: Sequence[tuple[int, Output]]) -> list[Record]:
        """Return those outputs that scrub reads, as it reads them."""
        found = []
        for number, output in written:
            if output.topic in (NOTES.name, PATIENT_UPDATES.name):
                index = partition_of(output.key or b"", PARTITIONS)
                place = Partition(output.topic, index)
                offset = self._next(place, number)
                found.append(
                    Record(
                        place,
                        offset,
                        output.key,
                        output.value,
                        output.headers,
                        self._now_ms,
                    )
                )
        return found


def _end(output: Output) -> dict[Partition, int]:
    """Return the offset after a row of a table, which does not matter in memory."""
    index = output.partition
    return {} if index is None else {Partition(output.topic, index): 1}


def _files(
    folder: Path, policy: str, key_file: Path, messages: Sequence[Message]
) -> Iterator[tuple[int, bytes]]:
    """Yield the files that `scrub --out` writes; of a refused message there is none."""
    given, out = folder / "given", folder / "out"
    given.mkdir(parents=True)
    for number, sent in enumerate(messages):
        if sent.value is not None:
            Path(given, f"{number:04}").write_bytes(sent.value)
    options = ("--out", out, "--policy", policy, "--key-file", key_file)
    # Relative: surrogates of a file without a patient depend on its path.
    done = phistream("scrub", given.name, *options, cwd=folder)
    if done.returncode not in (0, 1):
        raise SystemExit(f"scrub --out ended with {done.returncode}")
    for path in sorted(each for each in out.rglob("*") if each.is_file()):
        yield int(path.name[:4]), path.read_bytes()


def _answers(
    folder: Path, key_file: Path, messages: Sequence[Message]
) -> Iterator[tuple[str, int, bytes]]:
    """Yield the gateway's answers: path, message number, status, type and body."""
    settings = {"policy": "surrogate", "pseudonym_key_file": key_file}
    with serving(folder, "--workers", "1", **settings) as gateway:
        for number, sent in enumerate(messages):
            if sent.value is not None:
                path, media_type = _entrance(sent.value)
                yield path, number, _answer(gateway, path, media_type, sent.value)


def _entrance(value: bytes) -> tuple[str, str]:
    try:
        return PATHS.get(recognise(value), OTHER)
    except InvalidRecord:
        return OTHER


def _answer(gateway: Gateway, path: str, media_type: str, value: bytes) -> bytes:
    answer = gateway.post(path, value, media_type)
    head = f"{answer.status} {answer.headers.get('Content-Type')}\n"
    return head.encode() + answer.body


if __name__ == "__main__":
    app()
