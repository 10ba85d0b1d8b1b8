"""Invented notes that a system reads when it is built, as its first ones.

They load machine code and lists that would otherwise be loaded with the first note of a
hospital: of plain text and other scripts, in one letter case, with a record or without.
"""

from __future__ import annotations

from datetime import date

from deid_core.document import Address, Document, KnownId, KnownIdentifiers, PersonName
from deid_core.labels import Label

_RECORD = KnownIdentifiers(
    patient_names=(PersonName("Roe", "Jane", "Quincy"),),
    kin_names=(PersonName("Roe", "John"),),
    provider_names=(PersonName("Müller", "Ada"),),
    birth_dates=(date(1950, 2, 3),),
    addresses=(Address("12 Elm Street", "", "Springfield", "IL", "62704"),),
    phones=("217-555-0143",),
    emails=("jane.roe@example.org",),
    ids=(KnownId("8401127", Label.MEDICALRECORD),),
    facilities=("Elm Grove Hospital",),
    employers=("Elm Grove Bakery",),
)
_TEXTS = (
    """Name: Roe, Jane Q.  MRN: 8401127  DOB: 02/03/1950
Mrs. Roe, a 74-year-old retired teacher of 12 Elm Street, Springfield, IL 62704, was
seen by Dr. Ada Poe at Elm Grove Hospital on March 3, 2024. Her son John, call him at
(217) 555-0143 or jane.roe@example.org, says she fell. Signed by Ada Poe, MD
""",
    "MRS. ROE WAS SEEN AT ELM GROVE HOSPITAL ON 3/4/2024 BY DR. POE. SHE IS WELL.",
    "pt jane roe seen 3/4, dr poe aware; lives w son john in springfield, fluids given",
    "Frau Müller - Señora Núñez, 62 años, vive en Calle Álamo 4, Málaga - seen today.",
    "",
)

FIRST_NOTES = tuple(
    Document(f"first-{number}", text, known=known)
    for known in (KnownIdentifiers(), _RECORD)
    for number, text in enumerate(_TEXTS)
)
"""Each text without a record, and with one."""
