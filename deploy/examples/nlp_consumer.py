"""Find drugs in scrubbed notes, and say where each stands there and in the original.

    python nlp_consumer.py HOST:PORT

One JSON line a find on standard output.  Needs confluent-kafka alone.  At least once:
after a crash the last notes are read again; note_id and start tell a find apart.
"""

import json
import re
import sys

from confluent_kafka import Consumer, KafkaException

DRUGS = re.compile(r"\b(?:aspirin|heparin|insulin|lisinopril|metformin)\b", re.I)


def in_original(offset: int, rows: list[list[int]]) -> int:
    """Return where an offset of the scrubbed text lies in the original note."""
    before = [row for row in rows if row[2] <= offset]
    start, end, _, scrubbed_end = before[-1] if before else (0, 0, 0, 0)
    return start if offset < scrubbed_end else end + offset - scrubbed_end


def finds(note: dict) -> list[dict]:
    """Return the drugs of one note, with offsets in code points."""
    return [
        {
            "note_id": note["note_id"],
            "drug": found[0].lower(),
            "start": found.start(),
            "end": found.end(),
            # For who is entitled to the original: the record of notes at `source`.
            "original_start": in_original(found.start(), note["offsets"]),
            "original_end": in_original(found.end() - 1, note["offsets"]) + 1,
            "source": note["source"],
        }
        for found in DRUGS.finditer(note["text"])
    ]


def json_of(value: bytes) -> dict:
    """Return a value, with the wire format of a schema registry or without."""
    return json.loads(value[5:] if value[:1] == b"\0" else value)


def main(bootstrap: str) -> None:
    """Read notes.scrubbed for ever; commit only what has been processed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "drug-finder",
            "isolation.level": "read_committed",  # else aborted copies come as well
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["notes.scrubbed"])
    while True:
        messages = consumer.consume(500, timeout=1)
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            if message.value() is None:
                continue  # the patient was erased: delete what was kept under this key
            for find in finds(json_of(message.value())):
                print(json.dumps(find))
        if messages:
            sys.stdout.flush()
            consumer.commit(asynchronous=False)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python nlp_consumer.py HOST:PORT")
    main(sys.argv[1])
