import json
import subprocess
import sys

import pytest

NAMES = {
    "given": "Zyxwvuta",
    "family": "Quorblinski",
    "kin": "Vexlomira",
    "provider": "Drumbleworth",
    "found": "Hraskovenko",
}
MARKERS = {
    **NAMES,
    "full name": "Smith, Anna",
    "street": "4711 Willow",
    "town": "Brumbletown",
    "facility": "Tannelwick Hall",
    "employer": "Velmora Widgets",
    "phone": "6175550186",
    "written phone": "555-0186",
    "mrn": "77881234",
    "other number": "90210345",
    "e-mail": "quor.blin@example",
    "note": "slept well and ate",
    "odd note": "caf\u00e9 in the",
    "raised": "\u00b9\u00b2\u00b3\u2074",
}
BORN = "1957-03-14"
RECORD = {
    "patients": [["Quorblinski", "Zyxwvuta"], ["Smith", "Anna"], ["Young", "Will"]],
    "kin": [["Quorblinski", "Vexlomira"]],
    "providers": [["Drumbleworth", "Anna"]],
    "addresses": [["4711 Willow Street", "Apt 9", "Brumbletown", "MA", "02139", "US"]],
    "phones": ["(617) 555-0186"],
    "emails": ["quor.blin@example.com"],
    "ids": ["MRN-77881234"],
    "facilities": ["Tannelwick Hall Hospital"],
    "employers": ["Velmora Widgets, Inc."],
}
NOTES = [
    "Zyxwvuta Quorblinski, born 3/14/1957, of 4711 Willow Street, Brumbletown, slept "
    "well and ate. MRN 77881234, call 617-555-0186 or quor.blin@example.com. "
    "Dr. Drumbleworth of Tannelwick Hall Hospital told Vexlomira. Works at Velmora "
    "Widgets.",
    "Dr. Hraskovenko saw Smith, Anna in a caf\u00e9 in the city; Hraskovenko's pager "
    "+44 90210345. 195703141200 Quorblinsky came. Account 90210345, on 14 March. "
    "Zyxwvut\u00e4 n\u00b0 \u00b9\u00b2\u00b3\u2074\u2075\u2076. Will Young left.",
]
SYSTEMS = [
    ("hybrid", "surrogate"),
    ("hybrid", "limited-data-set"),
    ("meddocan", "safe-harbor"),
]


def left_of(system, *, keep=False):
    """Return the markers that are reachable in a process that used a system."""
    given = {
        "system": system,
        "markers": MARKERS,
        "born": BORN,
        "record": RECORD,
        "notes": NOTES,
        "keep": keep,
    }
    ended = subprocess.run(
        [sys.executable, "-m", "tests.deid_core.memory_of_phi"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ended.stdout)


@pytest.mark.parametrize("system", SYSTEMS, ids=" ".join)
def test_nothing_of_notes_and_records_outlives_the_deidentifier(system):
    assert left_of(system) == {}


def test_the_search_finds_every_marker_that_is_kept():
    assert {"born", *MARKERS} == {*left_of(SYSTEMS[0], keep=True)}
