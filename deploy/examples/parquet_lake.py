"""Write notes.scrubbed or phi.audit into a lake folder, each record exactly once.

    python parquet_lake.py HOST:PORT TOPIC LAKE [RECORDS_A_FILE]

    LAKE/notes.scrubbed/notes.scrubbed-PARTITION-FIRSTOFFSET-LASTOFFSET.parquet
    LAKE/phi.audit/date=2026-01-31/phi.audit-PARTITION-FIRSTOFFSET-LASTOFFSET.parquet

Notes come without a time, and get none here: beside shifted dates the day of arrival
would tell by how much.  So keep phi.audit, which has times, where its readers are few.

The files are the position: a start reads on after the last offset that a file's name
holds, so nothing is committed to Kafka, and a kill -9 leaves neither loss nor doubles.
Needs confluent-kafka and pyarrow.  One writer a topic's folder; a second is refused.
"""

import fcntl
import json
import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

COLUMNS = {
    "notes.scrubbed": "note_id patient key_id note_type written_at text preset policy"
    " join",
    "phi.audit": "timestamp_ms stage outcome code note_id patient join policy version"
    " annotations",
}
DATED = {"phi.audit"}
"""Topics whose records have a time: their files lie in a folder for each day."""
TYPES = {
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp_ms": pa.int64(),
    "annotations": pa.list_(
        pa.struct(
            {
                "start": pa.int32(),
                "end": pa.int32(),
                "label": pa.string(),
                "score": pa.float64(),
                "detector": pa.string(),
            }
        )
    ),
}


def main(bootstrap: str, topic: str, lake: Path, most: int) -> None:
    """Copy the topic into the lake for ever, as its only writer."""
    folder = lake / topic
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for cut_off in folder.rglob("*.tmp"):
            cut_off.unlink()
        copy(bootstrap, topic, folder, most)


def copy(bootstrap: str, topic: str, folder: Path, most: int) -> None:
    """Read from where the files end, and write what comes."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "lake",  # the client wants one; nothing is committed to it
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            # If the topic has lost what was not read yet: stop, do not skip it.
            "auto.offset.reset": "error",
        }
    )
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    reached = positions(folder)
    consumer.assign(
        [TopicPartition(topic, p, reached.get(p, OFFSET_BEGINNING)) for p in partitions]
    )
    while True:
        messages = consumer.consume(most, timeout=5)
        for failed in filter(Message.error, messages):
            raise KafkaException(failed.error())
        store(folder, messages)


def positions(folder: Path) -> dict[int, int]:
    """Return, by partition, the first offset that no file holds yet."""
    reached: dict[int, int] = {}
    for file in folder.rglob("*.parquet"):
        _topic, partition, _first, last = file.stem.rsplit("-", 3)
        reached[int(partition)] = max(reached.get(int(partition), 0), int(last) + 1)
    return reached


def store(folder: Path, messages: Iterable[Message]) -> None:
    """Write messages into files, each complete or not there at all."""
    # Runs of a day, not all of a day at once: a crash between two files leaves no gap.
    # A null value says that a patient was erased: phistream lake carries that out.
    messages = [message for message in messages if message.value() is not None]
    in_order = sorted(messages, key=Message.partition)
    is_dated = folder.name in DATED
    for (partition, day), run in groupby(in_order, partition_and_day):
        rows = [row(message) for message in run]
        first, last = rows[0]["offset"], rows[-1]["offset"]
        name = f"{folder.name}-{partition}-{first}-{last}"
        place = folder / day if is_dated else folder
        place.mkdir(exist_ok=True)
        unfinished = place / f"{name}.tmp"
        with unfinished.open("wb") as out:
            pq.write_table(pa.Table.from_pylist(rows, schema(folder.name)), out)
            out.flush()
            os.fsync(out.fileno())  # the name must not outlive the content
        if not is_dated:
            os.utime(unfinished, (0, 0))  # the file's own time would tell the day
        os.replace(unfinished, unfinished.with_suffix(".parquet"))


def partition_and_day(message: Message) -> tuple[int, str]:
    """Return where a message belongs; the day is that of its time in Kafka, in UTC."""
    milliseconds = message.timestamp()[1]  # -1 for a message without a time
    day = datetime.fromtimestamp(max(0, milliseconds) / 1000, UTC).date()
    return message.partition(), f"date={day}"


def row(message: Message) -> dict:
    """Return a message as a row."""
    return json_of(message.value()) | {
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp_ms": message.timestamp()[1],
    }


def json_of(value: bytes) -> dict:
    """Return a value, with the wire format of a schema registry or without."""
    return json.loads(value[5:] if value[:1] == b"\0" else value)


def schema(topic: str) -> pa.Schema:
    """Return the columns of a topic's files; what is not among them is left out."""
    names = ["partition", "offset", *COLUMNS[topic].split()]
    return pa.schema({name: TYPES.get(name, pa.string()) for name in names})


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit("usage: python parquet_lake.py HOST:PORT TOPIC LAKE [RECORDS]")
    most = int(sys.argv[4]) if len(sys.argv) > 4 else 10_000
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), most)
