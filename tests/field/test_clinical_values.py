"""No policy and no format changes a clinical value.

The lists in `clinical/` hold tests with unit and values, scores, and codes of public
systems.
"""

from __future__ import annotations

import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from tests.sampling import sampled

from .outputs import shown_forms, shows
from .scrubbing import scrubbed

HERE = Path(__file__).parent
POLICIES = ("safe-harbor", "limited-data-set", "surrogate", "internal-qa", "i2b2")
PER_NOTE = 20
NAME = "Quellmoor"
PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "name": [{"family": NAME, "given": ["Ansgar"]}],
}
HEADER = (
    "MSH|^~\\&|LAB|NORTHLAKE|EHR|NORTHLAKE|20241102091500||ORU^R01|M1|P|2.5.1\r"
    f"PID|1||7740082^^^NLK^MR||{NAME}^Ansgar||19711003|M\rOBR|1|||N^Note^L\r"
)


def rows(name):
    """Return the rows of a list."""
    lines = (HERE / "clinical" / f"{name}.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def statements():
    """Yield values as a note writes them, with and without unit, one of a kind."""
    for test, unit, value, extreme in rows("analytes"):
        yield f"{test} {value} {unit}"
        yield f"{test}: {extreme} {unit}"
        yield f"{test} {extreme}"
    for (score,) in rows("scores"):
        yield score
    for system, code in rows("codes"):
        yield f"{system} {code}"


def as_text(lines):
    return "Seen in clinic.\n" + "\n".join(lines) + "\n"


def as_prose(lines):
    return "Seen in clinic. " + "; ".join(lines) + ". Plan as discussed.\n"


def as_json_line(lines):
    return json.dumps({"id": "n1", "text": as_prose(lines)}) + "\n"


def as_hl7(lines):
    escaped = (line.replace("^", "\\S\\").replace("&", "\\T\\") for line in lines)
    return HEADER + "".join(
        f"OBX|{n}|TX|N||{line}\r" for n, line in enumerate(escaped, start=1)
    )


def as_fhir(lines):
    subject = {"reference": "Patient/p1"}
    observations = (
        {
            "resourceType": "Observation",
            "id": f"o{n}",
            "status": "final",
            "subject": subject,
            "code": {"text": "Result"},
            "valueString": line,
        }
        for n, line in enumerate(lines)
    )
    entries = [{"resource": each} for each in (PATIENT, *observations)]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
    return json.dumps(bundle)


def as_ccda(lines):
    document = (HERE / "files" / "ccda-words-of-vendors.xml").read_text("utf-8")
    head, _, _ = document.partition("<component><structuredBody>")
    items = "".join(f"<item>{escape(line)}</item>" for line in lines)
    return (
        f"{head}<component><structuredBody><component><section>"
        '<code code="30954-2" codeSystem="2.16.840.1.113883.6.1"/>'
        f"<title>Results</title><text><list>{items}</list></text></section>"
        "</component></structuredBody></component></ClinicalDocument>"
    )


def as_rtf(lines):
    return "{\\rtf1\\ansi " + "\\par ".join(lines) + "}"


FORMATS = {
    "lines.txt": as_text,
    "prose.txt": as_prose,
    "note.jsonl": as_json_line,
    "message.hl7": as_hl7,
    "bundle.json": as_fhir,
    "document.xml": as_ccda,
    "note.rtf": as_rtf,
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_clinical_value_is_changed(policy, name, tmp_path):
    every = sampled([*statements()])
    changed = []
    for start in range(0, len(every), PER_NOTE):
        lines = every[start : start + PER_NOTE]
        path = tmp_path / name
        path.write_text(FORMATS[name](lines), "utf-8", newline="")
        output, refusals = scrubbed(path, policy)
        assert not refusals
        forms = shown_forms(output)
        changed += [line for line in lines if not shows(line, forms)]

    assert changed == []


def test_the_lists_are_as_long_as_they_are_said_to_be():
    counts = [len(rows(name)) for name in ("analytes", "scores", "codes")]
    assert [
        count >= least for count, least in zip(counts, (400, 200, 300), strict=True)
    ] == [True] * 3
