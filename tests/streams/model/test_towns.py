"""Towns of addresses that are in no record lie in the state beside them."""

from __future__ import annotations

import pytest

from deid_core import Deidentifier, Document, KnownIdentifiers, Label
from deid_core.document import Address
from deid_core.fiction.places import states, towns_of
from streams.model.towns import town
from streams.pipeline.publish import PatientValues, Pseudonyms
from tests.streams.formats.fhir.scrubbing import resources
from tests.streams.formats.fhir.scrubbing import scrubbed as scrubbed_fhir
from tests.streams.formats.hl7.rebuilding import KEY, deidentified, deidentifier, fields

PATIENTS = range(12)


def values(patient="p1", policy="surrogate", known=None):
    document = Document("", "", known or KnownIdentifiers(), patient)
    return PatientValues(deidentifier(policy), document, Pseudonyms(KEY))


@pytest.mark.parametrize("state", ["GA", "Georgia", "ga", "IN", "MS", "NE"])
@pytest.mark.parametrize("patient", PATIENTS)
def test_a_town_is_in_the_surrogate_of_the_state_beside_it(state, patient):
    given = values(str(patient))
    region = states()[given.replaced(Label.STATE, state).lower()].code

    written = town(given, "Columbus", state)

    assert written in towns_of(f"US-{region}")


def test_a_town_of_the_record_is_that_of_the_notes():
    known = KnownIdentifiers(addresses=(Address(city="Columbus", state="GA"),))
    given = values(known=known)

    assert given.replaced(Label.CITY, "Columbus") == town(given, "Columbus", "GA")
    assert town(given, "COLUMBUS", "GA") == town(given, "Columbus", "GA").upper()


@pytest.mark.parametrize("state", ["", "ON", "Bavaria", "GA 31901", "[X]"])
def test_without_a_state_a_town_is_replaced_alone(state):
    given = values()

    assert given.replaced(Label.CITY, "Columbus") == town(given, "Columbus", state)
    written = town(given, "Columbus, Old", "GA")
    assert given.replaced(Label.CITY, "Columbus, Old") == written


@pytest.mark.parametrize("policy", ["safe-harbor", "limited-data-set", "internal-qa"])
def test_other_policies_write_what_they_write_of_a_town_alone(policy):
    given = values(policy=policy)
    written = town(given, "Columbus", "GA")

    assert "GA" not in written
    assert given.replaced(Label.CITY, "Columbus") == written


def test_a_town_that_a_policy_writes_as_its_state_is_written_so(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('name="a"\ndefault="tag"\n[labels]\n"LOCATION:CITY"="generalise"\n')
    system = Deidentifier.from_names("lexical", str(path))
    given = PatientValues(system, Document("", "", patient="p"), Pseudonyms(KEY))

    assert "Ohio" not in town(given, "Columbus", "GA")


MESSAGE = "\r".join(
    (
        "MSH|^~\\&|APP|HOSP|||20240301093000||ORU^R01|C1|P|2.5.1",
        "PID|1||{mrn}^^^WARD^MR||Okafor^Ashley||19580417|M|||41 Larkspur Lane"
        "^^Ebensburg^PA^15931^USA",
        "ORC|RE||||||||||||||||||||Acme|1 Main St^^Columbus^GA^31901^USA",
        "OBX|1|TX|1^History||Ashley Okafor is well. She lives in Ebensburg, PA 15931,"
        " USA.||||||F",
    )
)


@pytest.mark.parametrize("patient", PATIENTS)
def test_addresses_of_messages_fit_and_stay_in_their_country(patient):
    [(found, _)] = deidentified(MESSAGE.format(mrn=7711880 + patient).encode())

    home = fields(found, "PID")[11].split("^")
    work = fields(found, "ORC")[22].split("^")
    for address in (home, work):
        assert address[2] in towns_of(f"US-{address[3]}")
        assert address[5] == "USA"
    text = fields(found, "OBX")[5]
    assert f"lives in {home[2]}, {home[3]} {home[4]}" in text


@pytest.mark.parametrize("patient", PATIENTS)
def test_addresses_of_resources_fit(patient):
    address = {"city": "Columbus", "state": "GA", "country": "US"}
    entries = [
        {"resourceType": "Patient", "id": f"{patient}", "gender": "male"},
        {"resourceType": "Organization", "id": "o", "address": [address]},
    ]
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"resource": each} for each in entries],
    }

    [written] = resources(scrubbed_fhir(bundle))["Organization"]["address"]

    assert written["city"] in towns_of(f"US-{written['state']}")
    assert written["country"] == "US"
