"""Use a `Deidentifier`, drop it, and print what is left of its notes and records.

Run as a process of its own by `test_memory`; markers come from standard input, so that
no constant of this module holds one.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from datetime import date

from deid_core import (
    Address,
    Deidentifier,
    Document,
    Explanation,
    KnownId,
    KnownIdentifiers,
    Label,
    PersonName,
)

KEY = bytes(range(32))


def main() -> None:
    """Print each marker that is still reachable, and in what."""
    raw = sys.stdin.read()
    given = json.loads(raw)
    system = Deidentifier.from_names(*given["system"], KEY)
    explanations = scrub(system, raw)
    if not given["keep"]:
        del system, explanations
    gc.collect()
    markers = {name: text.casefold() for name, text in given["markers"].items()}
    born = date.fromisoformat(given["born"])
    own = {id(value) for value in objects_in([raw, given, markers, born])}
    found = {
        name: f"{type(each).__name__} of {len(str(each))}"
        for each in reachable()
        if id(each) not in own
        for name in markers_in(each, markers, born)
    }
    print(json.dumps(found))


def markers_in(value: object, markers: dict[str, str], born: date) -> list[str]:
    """Return the names of the markers that a text, bytes or date holds."""
    if type(value) is date:
        return ["born"] * (value == born)
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str):
        return []
    folded = value.casefold()
    return [name for name, marker in markers.items() if marker in folded]


def scrub(system: Deidentifier, raw: str) -> list[Explanation]:
    """Scrub the notes, with the record and without, in every way there is."""
    # Strings of its own: those of `main` are always reachable.
    given = json.loads(raw)
    explanations: list[Explanation] = []
    known = known_from(given["record"], given["born"])
    for text in given["notes"]:
        for each in (text, text.upper()):
            documents = [Document("n", each, known, "p"), Document("m", each)]
            system.deidentify_batch(documents)
            explanations += system.explain(documents)
    system.leaked_in(known, given["notes"])
    system.replaced_value(documents[0], Label.DATE, given["born"])
    return explanations


def known_from(record: dict[str, object], born: str) -> KnownIdentifiers:
    """Return the record."""
    return KnownIdentifiers(
        patient_names=tuple(PersonName(*each) for each in record["patients"]),
        kin_names=tuple(PersonName(*each) for each in record["kin"]),
        provider_names=tuple(PersonName(*each) for each in record["providers"]),
        birth_dates=(date.fromisoformat(born),),
        addresses=tuple(Address(*each) for each in record["addresses"]),
        phones=tuple(record["phones"]),
        emails=tuple(record["emails"]),
        ids=tuple(KnownId(each, Label.MEDICALRECORD) for each in record["ids"]),
        facilities=tuple(record["facilities"]),
        employers=tuple(record["employers"]),
    )


def reachable() -> Iterator[object]:
    """Yield all that containers hold; those of plain values alone are not tracked."""
    todo = gc.get_objects()
    seen = {id(todo)}
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        todo += gc.get_referents(each)


def objects_in(values: list[object]) -> Iterator[object]:
    """Yield values and all that is in them."""
    for each in values:
        yield each
        if isinstance(each, dict):
            yield from objects_in([*each.keys(), *each.values()])
        elif isinstance(each, (list, tuple)):
            yield from objects_in([*each])


if __name__ == "__main__":
    main()
