import pytest

from deid_core.document import Address
from streams.engine.errors import InvalidRecord
from streams.formats.hl7 import fields
from streams.formats.hl7.demographics import patient_groups
from streams.formats.hl7.message import parse
from streams.formats.hl7.reader import WANTED
from streams.model.patients.demographics import Identifier, Kin, Name, PatientId

MSH = "MSH|^~\\&|APP|HOSP|||20240301093000||ADT^A08|C1|P|2.5.1"


def groups_of(*lines, authority="HOSP", facility="", trigger="A08"):
    _, *segments = parse("\r".join((MSH, *lines)), WANTED)
    return patient_groups(segments, authority, facility, trigger)


def group_of(*lines, **keywords):
    (group,) = groups_of(*lines, **keywords)
    return group


def said(*lines):
    return group_of(*lines).demographics


def pid(**values):
    """Return a PID with an identifier and the fields given as f5="...", f7="..."."""
    row = ["PID", "", "", "4711^^^WARD^MR", *[""] * 40]
    for name, value in values.items():
        row[int(name[1:])] = value
    return "|".join(row)


@pytest.mark.parametrize(
    ("pid_3", "patient"),
    [
        ("1^^^A^SS~2^^^B^PI~3^^^C^MR", PatientId("C", "3")),
        ("1^^^A^PT~2^^^B^PI", PatientId("B", "2")),
        ("1^^^A^SS~2^^^B^XX", PatientId("B", "2")),
        ("1^^^A^SSN~2^^^B^PI~3^^^C^MRN", PatientId("C", "3")),
        ("1", PatientId("HOSP", "1")),
        ("1^^^&1.2.3&ISO^MR", PatientId("1.2.3", "1")),
        ("1^^^A&1.2.3&ISO^MR", PatientId("A", "1")),
        ('""~1', PatientId("HOSP", "1")),
    ],
)
def test_prefers_a_medical_record_number_and_its_authority(pid_3, patient):
    assert patient == group_of(f"PID|1||{pid_3}").patient


def test_every_medical_record_number_keys_the_patient():
    group = group_of("PID|1||1^^^A^MR~2^^^B^PI~9^^^C^SS~1^^^A^MR")

    assert (PatientId("A", "1"), (PatientId("B", "2"),)) == (
        group.patient,
        group.others,
    )


@pytest.mark.parametrize(
    ("line", "id_"),
    [("PID||7^^^A", "7"), ("PID||||8", "8"), ("PID||7|6^^^A^SS|8", "7")],
)
def test_falls_back_on_the_older_identifier_fields(line, id_):
    assert id_ == group_of(line).patient.id


@pytest.mark.parametrize(
    "line", ["PID", "PID|1", "PID|1||^^^A^MR", "PID|1||1^^^A^SS", 'PID|||""']
)
def test_refuses_a_patient_without_an_identifier(line):
    with pytest.raises(InvalidRecord, match=r"no_patient: PID-3: "):
        groups_of(line)


def test_refuses_a_message_without_a_patient():
    with pytest.raises(InvalidRecord, match="no_patient: PID: "):
        groups_of("PV1|1")


def test_reads_legal_maiden_and_alias_names():
    names = said(
        pid(f5="Example^Edith^Q^Jr^Mrs^^L~Sample^Edith^^^^^M", f9="Eddie^E")
    ).names

    assert names == (
        Name("Example", "Edith", "Q", "Mrs", "Jr", "L"),
        Name("Sample", "Edith", use="M"),
        Name("Eddie", "E", use="A"),
    )


@pytest.mark.parametrize(
    ("whole", "name"),
    [
        ("EDITH EXAMPLE", Name("EXAMPLE", "EDITH")),
        ("EDITH Q. EXAMPLE", Name("EXAMPLE", "EDITH", "Q.")),
        ("EXAMPLE, EDITH Q", Name("EXAMPLE", "EDITH", "Q")),
        ("EXAMPLE,", Name("EXAMPLE")),
        (",", None),
        ("EXAMPLE", Name("EXAMPLE")),
        ("De La Cruz^Edith", Name("De La Cruz", "Edith")),
        ("von Muster&von&Muster^E", Name("von Muster", "E")),
        ("&von&Muster^E", Name("Muster", "E")),
    ],
)
def test_parts_a_name_that_was_sent_whole(whole, name):
    assert ((name,) if name else ()) == said(pid(f5=whole)).names


def test_the_own_and_the_partners_surname_are_names_as_well():
    names = said(pid(f5="Example&&Sample&&Muster^Edith")).names

    assert [each.family for each in names] == ["Example", "Sample", "Muster"]
    assert {each.given for each in names} == {"Edith"}


@pytest.mark.parametrize(
    ("sad", "street"),
    [
        ("1 Row", "1 Row"),
        ("1 Row&Row&1", "1 Row"),
        ("1&Row", "1 Row"),
        ("&Row&1", "1 Row"),
        ("&Row", "Row"),
    ],
)
def test_a_street_has_its_name_and_number(sad, street):
    assert [each.street for each in said(pid(f11=sad)).addresses] == [street]


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("19480229", ("1948-02-29",)),
        ("194802291530+0100", ("1948-02-29",)),
        ("1948-02-29", ("1948-02-29",)),
        ("19490229", ()),
        ("1948", ()),
        ("00000000", ()),
        ("00010101", ()),
        ("never", ()),
        ("", ()),
    ],
)
def test_reads_a_birth_date_only_when_it_is_one(sent, read):
    assert read == said(pid(f7=sent)).birth_dates


def test_reads_addresses_of_the_patient_and_of_kin():
    found = said(
        pid(f11="1 Row^Flat 2^Nowhere^ZZ^00000^USA~&Side St&9^^There"),
        "NK1|1|Example^Emil|SPO|3 Other Row",
    ).addresses

    assert found == (
        Address("1 Row", "Flat 2", "Nowhere", "ZZ", "00000", "USA"),
        Address("9 Side St", city="There"),
        Address("3 Other Row"),
    )


@pytest.mark.parametrize(
    ("xtn", "phones", "emails"),
    [
        ("(555)555-0100^PRN^PH", ("(555)555-0100",), ()),
        ("^PRN^PH^^1^555^5550100", ("1 555 5550100",), ()),
        ("^PRN^PH^^^^^^^^^555-0100", ("555-0100",), ()),
        ("^NET^Internet^e@example.org", (), ("e@example.org",)),
        ("e1@example.org^NET", (), ("e1@example.org",)),
        ("none", (), ()),
    ],
)
def test_reads_phones_and_emails_wherever_xtn_holds_them(xtn, phones, emails):
    for field in ("f13", "f14", "f40"):
        found = said(pid(**{field: xtn}))

        assert (phones, emails) == (found.phones, found.emails)


def test_reads_the_phones_of_kin_and_guarantor():
    found = said(
        pid(), "NK1|1||||555-0101|555-0102", "GT1|1|||||555-0103^^^g@example.org"
    )

    assert found.phones == ("555-0101", "555-0102", "555-0103")
    assert found.emails == ("g@example.org",)


def test_reads_every_identifier_with_its_type_and_authority():
    found = said(
        pid(f2="P2", f4="P4", f18="A1", f19="000-00-0000", f20="D1^ZZ", f21="M1"),
        "PV1|1" + "|" * 18 + "V1",
        "IN1|1" + "|" * 35 + "I1",
    ).ids

    assert found == (
        Identifier("4711", "MR", "WARD"),
        Identifier("P2", "PT"),
        Identifier("P4", "PT"),
        Identifier("A1", "AN"),
        Identifier("000-00-0000", "SS"),
        Identifier("D1", "DL"),
        Identifier("M1", "MR"),
        Identifier("V1", "VN"),
        Identifier("I1", "MB"),
    )


def test_reads_kin_guarantor_insured_and_mother():
    found = said(
        pid(f6="Sample^Mary"),
        "NK1|1|Example^Emil~Example^Milo|SPO",
        "NK1|2||MTH",
        "GT1|1||Payer^Pat|Payer^Sam",
        "IN1|1" + "|" * 15 + "Holder^Hal",
    ).kin

    assert found == (
        Kin(Name("Sample", "Mary")),
        Kin(Name("Example", "Emil"), "SPO"),
        Kin(Name("Example", "Milo"), "SPO"),
        Kin(Name("Payer", "Pat")),
        Kin(Name("Payer", "Sam")),
        Kin(Name("Holder", "Hal")),
    )


@pytest.mark.parametrize(
    ("segment", "field"),
    [
        (name, number)
        for name, numbers in fields.PROVIDERS.items()
        for number in numbers
    ],
)
def test_reads_providers_from_every_declared_field(segment, field):
    line = f"{segment}{'|' * field}77^Healer^Hanna^H^^Dr~88^Other"

    assert said(pid(), line).providers == (
        Name("Healer", "Hanna", "H", "Dr"),
        Name("Other"),
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("77&Healer&Hanna&H", Name("Healer", "Hanna", "H")),
        ("77^Healer^Hanna", Name("Healer", "Hanna")),
        ("77^HEALER, HANNA", Name("HEALER", "HANNA")),
        ("HEALER, HANNA H", Name("HEALER", "HANNA", "H")),
        ("77", None),
    ],
)
@pytest.mark.parametrize("field", fields.READERS["OBR"])
def test_reads_those_who_interpreted_a_result(field, value, name):
    found = said(pid(), f"OBR{'|' * field}{value}").providers

    assert ((name,) if name else ()) == found


@pytest.mark.parametrize("bare", ["1234567", "HEALER77", "hhealer", "^^", "Room 4"])
def test_an_identifier_alone_is_no_provider(bare):
    assert said(pid(), f"PV1|||||||{bare}").providers == ()


def test_reads_facilities_and_employers():
    found = group_of(
        pid(),
        "PV1|1||4W^12^A^Invented General",
        "NK1|1" + "|" * 12 + "Example Works",
        facility="HOSP",
    ).demographics

    assert found.facilities == ("HOSP", "Invented General")
    assert found.employers == ("Example Works",)


@pytest.mark.parametrize("trigger", ["A40", "A34", "A36", "A39", "A47", "A18", "A30"])
def test_a_merge_names_the_prior_identifier(trigger):
    group = group_of(
        pid(), "MRG|0815^^^WARD^MR~9^^^X^SS|||0816|||Sample^E", trigger=trigger
    )

    assert group.prior == (PatientId("WARD", "0815"), PatientId("HOSP", "0816"))
    assert group.demographics.names == (Name("Sample", "E"),)
    assert {each.value for each in group.demographics.ids} == {
        "4711",
        "0815",
        "0816",
        "9",
    }


def test_a_merge_into_oneself_is_none():
    group = group_of(pid(), "MRG|4711^^^WARD^MR")

    assert (group.prior, group.merged) == ((), ())


@pytest.mark.parametrize("trigger", ["A37", "A43", "A44", "A45"])
def test_an_unlink_or_a_move_merges_nobody(trigger):
    """MRG of a move names another person, from whom something was moved."""
    group = group_of(pid(), "MRG|0815^^^WARD^MR|||0816", trigger=trigger)

    assert (group.prior, group.merged) == ((), ())
    assert group.keys == (PatientId("WARD", "4711"),)


def test_every_patient_of_a_message_has_what_follows_the_pid():
    first, second = groups_of("PID|||1", "NK1|1|One", "PID|||2", "NK1|1|Two")

    assert (first.patient.id, second.patient.id) == ("1", "2")
    assert ((Kin(Name("One")),), (Kin(Name("Two")),)) == (
        first.demographics.kin,
        second.demographics.kin,
    )


def test_what_precedes_the_first_pid_is_of_that_patient():
    first, second = groups_of("NTE|1||before", "PID|||1", "PID|||2")

    assert [each.name for each in first.segments] == ["PID", "NTE"]
    assert [each.name for each in second.segments] == ["PID"]


@pytest.mark.parametrize(
    "lines",
    [
        [pid(f13="~".join(f"555-{n:04}" for n in range(129)))],
        [pid(), "MRG|" + "~".join(f"{n}^^^A^MR" for n in range(129))],
        [pid(f3="~".join(f"{n}^^^A^MR" for n in range(129)))],
        [
            pid(f3="~".join(f"{n}^^^A^MR" for n in range(65))),
            "MRG|" + "~".join(f"{n}^^^B^MR" for n in range(64)),
        ],
    ],
)
def test_refuses_more_values_than_a_record_remembers(lines):
    with pytest.raises(InvalidRecord, match="too_many: demographics: "):
        groups_of(*lines)
