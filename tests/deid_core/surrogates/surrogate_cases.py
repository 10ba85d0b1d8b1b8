"""A record, and the replacer of a policy, for the tests of surrogates."""

from __future__ import annotations

from datetime import date

from deid_core import (
    Address,
    Document,
    KnownId,
    KnownIdentifiers,
    Label,
    PersonName,
    load_policy,
)
from deid_core.replace import Replacer

KEY = b"k" * 32
OTHER_KEY = b"o" * 32

KNOWN = KnownIdentifiers(
    patient_names=(PersonName("Quellwright", "Mabel", "Ann"),),
    kin_names=(PersonName("Quellwright", "Tobias"), PersonName("Okonkwo", "Ada")),
    provider_names=(PersonName("O'Brien", "Patrick"),),
    birth_dates=(date(1932, 3, 14),),
    addresses=(Address("12 Oak Street", "", "Springfield", "IL", "62704", "US"),),
    phones=("(217) 555-0123",),
    emails=("mabel.quellwright@mail.test",),
    ids=(
        KnownId("0077881234", Label.MEDICALRECORD),
        KnownId("123-45-6789", Label.SSN),
    ),
    facilities=("St. Mary's Hospital",),
    employers=("Acme Widgets",),
)


def replacer(policy="surrogate", key=KEY):
    return Replacer(load_policy(policy), key)


def write(label, text, *, known=KNOWN, patient="p1", policy="surrogate", key=KEY):
    """Return the replacement of one value of a patient."""
    document = Document("n1", "", known, patient)
    return replacer(policy, key).value(document, label, text)
