"""Publish a master patient index, exported as CSV, on patient.updates.

    python patient_index.py HOST:PORT EXPORT.csv

Needs confluent-kafka and orjson.  The file is UTF-8 with a header; COLUMNS says what it
holds.  All rows are checked before the first one is published.  After a failure run it
again: an update that is repeated changes nothing.
"""

import csv
import sys
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path

import orjson
from confluent_kafka import KafkaError, Message, Producer

COLUMNS = (
    "authority",  # who gives the identifier, as in PID-3.4 of your messages
    "id",
    "updated_at",  # ISO 8601: decides which values are current
    "family",
    "given",
    "middle",
    "former_families",  # as all columns in the plural: divided by semicolons
    "birth_date",  # YYYY-MM-DD
    "sex",
    "street",
    "city",
    "state",
    "zip",
    "phones",
    "emails",
    "ssn",
    "linked_ids",  # merged or linked, of the same authority
    "erased",  # "yes" erases the patient of this row, and needs only authority and id
)


QUEUED = 10_000
"""Records in memory; the client refuses more than 100,000."""


class InvalidRow(ValueError):
    """A row can't be published; the message names the column, never the value."""


def patient_key(patient: dict) -> bytes:
    """Return the key of the record; phistream checks it."""
    escaped = [
        patient[part].replace("\\", "\\\\").replace("|", "\\|")
        for part in ("assigning_authority", "id")
    ]
    return "|".join(escaped).encode()


def record(row: dict[str, str]) -> tuple[bytes, bytes | None]:
    """Return key and value of a row; a null value erases the patient."""
    patient = {"assigning_authority": row["authority"], "id": row["id"]}
    if not patient["id"]:
        raise InvalidRow("id: is empty")
    if row["erased"] not in ("", "yes"):
        raise InvalidRow('erased: must be "yes" or empty')
    if row["erased"]:
        return patient_key(patient), None
    return patient_key(patient), orjson.dumps(update(patient, row))


def update(patient: dict, row: dict[str, str]) -> dict:
    """Return the patient update of a row, without empty values."""
    check(row, "birth_date", date.fromisoformat)
    check(row, "updated_at", datetime.fromisoformat)
    name = filled(family=row["family"], given=row["given"], middle=row["middle"])
    place = ("street", "city", "state", "zip")
    ssn = filled(value=row["ssn"])
    return filled(
        patient=patient,
        updated_at=row["updated_at"],
        demographics=filled(
            names=[name] if name else [],
            birth_dates=parts(row["birth_date"]),
            sex=row["sex"],
            addresses=[each] if (each := filled(**{p: row[p] for p in place})) else [],
            phones=parts(row["phones"]),
            emails=parts(row["emails"]),
            ids=[ssn | {"type": "SS"}] if ssn else [],
        ),
        former=filled(
            names=[name | {"family": each} for each in parts(row["former_families"])]
        ),
        merged=[patient | {"id": each} for each in parts(row["linked_ids"])],
    )


def check(row: dict[str, str], column: str, read: type) -> None:
    """Refuse a column that can't be read."""
    try:
        if row[column]:
            read(row[column])
    except ValueError:
        raise InvalidRow(f"{column}: must be ISO 8601") from None


def filled(**values: object) -> dict:
    """Return the values that are not empty."""
    return {name: value for name, value in values.items() if value}


def parts(text: str) -> list[str]:
    """Return what semicolons divide."""
    return [part.strip() for part in text.split(";") if part.strip()]


def check_header(names: Iterable[str]) -> None:
    """Refuse a file without a header, or with another one."""
    if {*names} != {*COLUMNS}:
        # Not the names: without a header they are a patient's values.
        raise InvalidRow(f"the header must have the columns {', '.join(COLUMNS)}")


def whole(row: dict[str, str]) -> dict[str, str]:
    """Return a row's values without the spaces around them."""
    if None in row or None in row.values():
        raise InvalidRow("has not as many values as the header")
    return {name: value.strip() for name, value in row.items()}


def records(file: Path) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield key and value of each row."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.DictReader(stream, strict=True)
        try:
            check_header(rows.fieldnames or ())
            for row in rows:
                yield record(whole(row))
        except (InvalidRow, csv.Error) as error:
            sys.exit(f"{file} line {rows.line_num}: {error}")
        except UnicodeDecodeError:
            sys.exit(f"{file} line {rows.line_num + 1} or later: is not UTF-8")


def main(bootstrap: str, file: Path) -> None:
    """Check all rows, then publish them; end with 1 unless all are confirmed."""
    for _ in records(file):
        pass
    failures: list[str] = []

    def confirm(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error.name())

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "partitioner": "murmur2_random",  # else notes and updates do not meet
        }
    )
    count = 0
    for key, value in records(file):
        while len(producer) >= QUEUED:
            producer.poll(1)
        producer.produce("patient.updates", value, key, on_delivery=confirm)
        producer.poll(0)
        count += 1
    lost = producer.flush(60) + len(failures)
    print(f"{count - lost} of {count} patients published on patient.updates")
    if lost:
        sys.exit(f"not confirmed: {', '.join(sorted({*failures})) or 'time ran out'}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python patient_index.py HOST:PORT EXPORT.csv")
    main(sys.argv[1], Path(sys.argv[2]))
