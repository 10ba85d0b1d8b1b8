"""Numbers without a label or with a local one, and numbers that stay readable."""

import pytest

from deid_core import Deidentifier, Document
from deid_core.detectors.rules.engine import RULES
from deid_core.detectors.rules.ids.shapes import (
    FORMS_OF_NUMBERS,
    FORMS_WITH_LETTERS,
    is_identifier_shaped,
)
from tests.deid_core.rules.rule_examples import covers, labels_of, spans_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("seen, KTH-1182O4 on the card", "KTH-1182O4"),
        ("card 13482/TB/0117/24 lost", "13482/TB/0117/24"),
        ("copy under 88-11207.", "88-11207"),
        ("see M26-01937 and scan", "M26-01937"),
        ("scan CT2506-00417 reviewed", "CT2506-00417"),
        ("silverado BTX2207 outside", "BTX2207"),
        ("machine 5TXS884120 alarmed", "5TXS884120"),
        ("vaccine FL0093 given", "FL0093"),
        ("two units, W1170 97 026153 is one", "W1170 97 026153"),
        ("covered, 4XH7-CV2-QR18", "4XH7-CV2-QR18"),
        ("signed PTH7719", "PTH7719"),
        ("Dr. K (MO)  MDC/RN/11827", "MDC/RN/11827"),
    ],
)
def test_a_number_without_a_label_is_an_identifier_by_default(text, value):
    assert covers(text, value)


@pytest.mark.parametrize(
    "value",
    [
        *("BP 148/91", "RR 12-16", "SBP 100-140", "ABG 7.31/48/71", "GRBAS 2-1-2-0-1"),
        *("Augmentin 875/125", "heparin 5000 units", "1200mg", "5000 UNITS", "600/24h"),
        *("WBC 12500", "platelets 250000", "ferritin 10250", "NT-proBNP 12450"),
        *("GCS E4V5M6", "APGAR 8-9", "PHQ-9 12", "FEV1 2.31", "FEF25-75 0.52"),
        *("0715-0720", "1430h", "07h00", "2015-2025", "1980s"),
        *("14 Fr catheter", "18G needle", "CoreValve Evolut R 26", "X5-1 probe", "5F"),
        *("stent 3.5x28", "graft 14x100", "Prismaflex", "Fresenius 2008T", "6935M-62"),
        *("M75.41", "S72.001A", "CPT 20610, 99214-25", "J3380", "LOINC 12345-6"),
        *(
            "SNOMED 44054006",
            "RxNorm 197361",
            "DRG 47012",
            "CAS 50-78-2",
            "NDC 00693-150",
        ),
        *("V600E", "c.68_69del", "185delAG", "p.Arg175His", "JAK2V617F", "SLC26A4"),
        *("CD117", "HLA-B27", "HLA-DRB1*04:01", "46,XX,del(5)(q13q33)", "pT2N0M0"),
        *("T11-12", "L4-5", "G4P2012", "50.4 Gy", "PRVC 18/380/10/60", "FiO2 40"),
        *("NCT01234567", "RTOG0539", "KEYNOTE-522", "MK-3475", "BMS-986165"),
        *("$12000", "1:200000", "1800-calorie", "97161, 95992"),
    ],
)
def test_a_clinical_number_stays_readable(value):
    assert spans_of(RULES, f"noted {value} again") == []


@pytest.mark.parametrize(
    "value",
    [
        example
        for forms in (FORMS_OF_NUMBERS, FORMS_WITH_LETTERS)
        for form in forms
        for example in form.partition(": ")[2].split(", ")
    ],
)
def test_every_example_of_a_form_is_no_identifier(value):
    assert not is_identifier_shaped(value)


@pytest.mark.parametrize(
    ("text", "value", "label"),
    [
        ("MedRec# CM-30418 today", "CM-30418", "ID:MEDICALRECORD"),
        ("HOSP NO GRH 52-21-70", "GRH 52-21-70", "ID:MEDICALRECORD"),
        ("IP No  SDH/IP/24/09118", "SDH/IP/24/09118", "ID:MEDICALRECORD"),
        ("H&C 320 118 4471", "320 118 4471", "ID:MEDICALRECORD"),
        ("NHI KTN4817", "KTN4817", "ID:MEDICALRECORD"),
        ("PPS 1234567TW", "1234567TW", "ID:IDNUM"),
        ("BVN 22180045671", "22180045671", "ID:IDNUM"),
        ("CNIC 36601-7718204-3", "36601-7718204-3", "ID:IDNUM"),
        ("PhilHealth 11-025518840-7", "11-025518840-7", "ID:IDNUM"),
        ("GMC 7041188", "7041188", "ID:LICENSE"),
        ("badge 3047", "3047", "ID:IDNUM"),
        ("acc 19-332-0866", "19-332-0866", "ID:IDNUM"),
        ("claim no. 4418", "4418", "ID:IDNUM"),
        ("S/N PZQ 618841R", "PZQ 618841R", "ID:DEVICE"),
        ("lot B71K4", "B71K4", "ID:DEVICE"),
        ("plate 421-TZL", "421-TZL", "ID:VEHICLE"),
        ("rego ABC 123", "ABC 123", "ID:VEHICLE"),
    ],
)
def test_the_label_before_a_number_gives_its_kind(text, value, label):
    assert labels_of(text, value) == {label}


@pytest.mark.parametrize(
    "text",
    [
        *("patient 120/80", "case 0730", "visit 1430", "file 2024"),
        *("ID: Tmax 100.2 F", "Rx: NS 1000", "pt: drink 100plus", "unit 300", "lot 12"),
        *("tag 3 mm", "RN 1855", "plan 2000 kcal", "order D5W 1000", "lead 2"),
    ],
)
def test_a_common_word_before_a_clinical_number_is_no_label(text):
    assert spans_of(RULES, f"then {text} again") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("wants a cb 555 0147", "555 0147"), ("cards paged @ 2-0632", "2-0632")),
        *(("Reading room x6121.", "x6121"), ("to Bui (pg 1188)", "1188")),
        *(("bleep 417", "417"), ("Mob 07700 900382", "07700 900382")),
        *(("call 0803 555 0176", "0803 555 0176"), ("ascom 61904", "61904")),
        *(("Tel. +49 761 5550 2210", "+49 761 5550 2210"), ("Fax -2299", "2299")),
        *(
            ("Contact O345-555O127", "O345-555O127"),
            ("hp 016-555 0128", "016-555 0128"),
        ),
        *(("use six six one two", "six six one two"),),
    ],
)
def test_finds_phones_of_wards_and_of_other_countries(text, value):
    assert covers(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lives at 77 Elm St apt 3B, Ely", "apt 3B"),
        ("Add: Stand 1175 Ext 3, opp. Zodwa's tuck shop", "opp. Zodwa's tuck shop"),
        ("Flat 7, Gulmohar CHS, behind Maruti Mandir", "behind Maruti Mandir"),
        ("House: No 7 Lrg Kenari 3, Tmn Desa Aman", "Lrg Kenari 3"),
        ("BOX: P.O. Box KS 4418, Kumasi", "KS 4418"),
        ("Star Route 1, Arnett", "Star Route 1"),
        ("3/29 Kauri Place", "3/29 Kauri Place"),
        ("Lindenstrasse 12a", "Lindenstrasse 12a"),
        ("SOUTH VIC 3678", "3678"),
        ("Cork T12 W8E7", "T12 W8E7"),
        ("Triq il-Kbira, Zejtun ZTN 1234", "ZTN 1234"),
        ("#04-311 S680077", "680077"),
    ],
)
def test_finds_parts_of_addresses(text, value):
    assert covers(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Chart closed by dszabo05 3/2", "dszabo05"),
        ("user: jdoe7", "jdoe7"),
        ("she is baom_2014", "baom_2014"),
        ("uploaded by tegan.c", "tegan.c"),
        ("sent (mylabs.clinic.example), ok", "mylabs.clinic.example"),
        ("tagged @janeroe77", "@janeroe77"),
    ],
)
def test_finds_user_names_and_portals(text, value):
    assert covers(text, value)


@pytest.mark.parametrize("convert", [str.upper, str.lower])
@pytest.mark.parametrize(
    "value",
    ["MDC/RN/11828", "4VCA-7720", "90KX1184", "TKN-0773", "31L-20775"],
)
def test_finds_codes_in_notes_of_one_letter_case(value, convert):
    text = convert(
        f"The patient was seen on the ward with stable blood pressure, {value}, and "
        "will be reviewed again by the team in the morning."
    )

    found = Deidentifier.from_names("hybrid").deidentify(Document("d", text))

    assert convert(value) not in found.text


def test_numbers_in_a_list_exempt_one_another_only_as_codes_of_procedures():
    text = "Lockers 20114, 20115. Billed 99213, 10060."

    assert covers(text, "20114")
    assert covers(text, "20115")
    assert not covers(text, "99213")
    assert not covers(text, "10060")
