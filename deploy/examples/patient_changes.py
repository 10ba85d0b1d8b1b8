"""Publish the changes of a table of patients, captured by Debezium, on patient.updates.

    python patient_changes.py HOST:PORT TOPIC

Needs confluent-kafka and orjson.  TOPIC holds Debezium's change events in JSON (with or
without their schema) of the table that `demographics` describes: adapt it to yours.
The table must give whole rows: in PostgreSQL ALTER TABLE ... REPLICA IDENTITY FULL.

What a row loses becomes a former value.  A changed identifier links both patients.  A
deleted row erases the patient; leave DELETED out of OPERATIONS if your system deletes
rows for other reasons.  At least once: an update that is repeated changes nothing.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import orjson
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

CREATED, READ, UPDATED, DELETED = "c", "r", "u", "d"
OPERATIONS = (CREATED, READ, UPDATED, DELETED)
UNAVAILABLE = "__debezium_unavailable_value"
"""Stands for a large value that has not changed."""
MAY_BE_FORMER = ("names", "birth_dates", "addresses", "phones", "emails", "ids")


class InvalidEvent(ValueError):
    """An event can't be published; the message names the column, never the value."""


class Row:
    """A row of the table, before or after a change."""

    def __init__(self, values: dict | None) -> None:
        if values is None:
            raise InvalidEvent("has no row; see REPLICA IDENTITY")
        self._values = values

    def text(self, column: str) -> str:
        """Return a column's value; an empty string for null."""
        if column not in self._values:
            raise InvalidEvent(f"lacks the column {column}")
        value = self._values[column]
        if value is not None and not isinstance(value, str):
            raise InvalidEvent(f"{column}: must be a text")
        return "" if value in (None, UNAVAILABLE) else value.strip()

    def day(self, column: str) -> str:
        """Return a date; Debezium counts days since 1970."""
        days = self._values.get(column)
        if isinstance(days, int):
            return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
        return self.text(column)

    def patient(self) -> dict:
        """Return the patient of the row, as in PID-3 of your messages."""
        patient = {"assigning_authority": self.text("facility"), "id": self.text("mrn")}
        if not patient["id"]:
            raise InvalidEvent("mrn: is empty; see REPLICA IDENTITY")
        return patient

    def demographics(self) -> dict:
        """Return everything that identifies the patient, without empty values."""
        name = filled(
            family=self.text("last_name"),
            given=self.text("first_name"),
            middle=self.text("middle_name"),
        )
        place = ("street", "city", "state", "zip")
        address = filled(**{part: self.text(part) for part in place})
        ssn = filled(value=self.text("ssn"))
        return filled(
            names=[name] if name else [],
            birth_dates=[day] if (day := self.day("date_of_birth")) else [],
            sex=self.text("sex"),
            addresses=[address] if address else [],
            phones=[p for each in ("phone", "mobile") if (p := self.text(each))],
            emails=[email] if (email := self.text("email")) else [],
            ids=[ssn | {"type": "SS"}] if ssn else [],
        )


def filled(**values: object) -> dict:
    """Return the values that are not empty."""
    return {name: value for name, value in values.items() if value}


def patient_key(patient: dict) -> bytes:
    """Return the key of the record; phistream checks it."""
    escaped = [
        patient[part].replace("\\", "\\\\").replace("|", "\\|")
        for part in ("assigning_authority", "id")
    ]
    return "|".join(escaped).encode()


def record(event: dict) -> tuple[bytes, bytes | None]:
    """Return key and value of a change; a null value erases the patient."""
    operation = event.get("op")
    if operation not in OPERATIONS:
        raise InvalidEvent(f"op: must be one of {', '.join(OPERATIONS)}")
    if operation == DELETED:
        return patient_key(Row(event.get("before")).patient()), None
    value = update(event)
    return patient_key(value["patient"]), orjson.dumps(value)


def update(event: dict) -> dict:
    """Return the patient update of a change."""
    row = Row(event.get("after"))
    patient, now = row.patient(), row.demographics()
    value = {
        "patient": patient,
        "updated_at": committed_at(event),
        "demographics": now,
    }
    if event.get("before") is not None:
        before = Row(event["before"])
        then = before.demographics()
        former = {
            name: [each for each in then.get(name, []) if each not in now.get(name, [])]
            for name in MAY_BE_FORMER
        }
        others = [each for each in [before.patient()] if each != patient]
        value |= filled(former=filled(**former), merged=others)
    return value


def committed_at(event: dict) -> str:
    """Return when the database committed the change."""
    milliseconds = (event.get("source") or {}).get("ts_ms") or event.get("ts_ms")
    if not isinstance(milliseconds, int):
        raise InvalidEvent("ts_ms: must be a number")
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def records(messages: list[Message]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield key and value of each change; end at one that can't be published."""
    for message in messages:
        if message.error():
            raise KafkaException(message.error())
        if message.value() is None:
            continue  # it follows a delete, for compaction
        try:
            yield record(event_of(message.value()))
        except InvalidEvent as error:
            place = f"{message.topic()}[{message.partition()}]@{message.offset()}"
            sys.exit(f"{place}: {error}; correct it, then start again")


def event_of(value: bytes) -> dict:
    """Return the change that a record holds."""
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        raise InvalidEvent("is not JSON") from None
    event = found.get("payload", found) if isinstance(found, dict) else None
    if not isinstance(event, dict):
        raise InvalidEvent("is no change event")
    return event


def main(bootstrap: str, topic: str) -> None:
    """Publish for ever; commit only what the cluster has confirmed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "patient-changes",
            "isolation.level": "read_committed",
            "session.timeout.ms": 10_000,  # a restart after a crash waits as long
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "partitioner": "murmur2_random",  # else notes and updates do not meet
        }
    )
    failures: list[str] = []

    def confirm(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error.name())

    consumer.subscribe([topic])
    while True:
        messages = consumer.consume(500, timeout=1)
        for key, value in records(messages):
            producer.produce("patient.updates", value, key, on_delivery=confirm)
        if producer.flush(60) or failures:
            sys.exit(f"not confirmed: {', '.join(failures) or 'time ran out'}")
        if messages:
            consumer.commit(asynchronous=False)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python patient_changes.py HOST:PORT TOPIC")
    main(*sys.argv[1:])
