"""Hypothesis strategies for demographics and patient records."""

from datetime import date

from hypothesis import strategies as st

from deid_core.document import Address
from streams.model.patients.demographics import (
    SNAPSHOT,
    Demographics,
    Identifier,
    Kin,
    Name,
    PatientId,
    PatientRecord,
)

# Few letters, so that values recur between records.
words = st.text(alphabet="abé|\\ \n", max_size=3)
said = st.text(alphabet="abé|\\ ", min_size=1, max_size=3)
names = st.builds(Name, family=said, given=words, middle=words, prefix=words, use=words)
dates = st.dates(min_value=date(1900, 1, 1), max_value=date(1900, 1, 9))
patient_ids = st.builds(PatientId, words, said)
times = st.one_of(
    st.sampled_from(("", "some day", "2024-01-01T00:00:00+01:00")),
    st.datetimes().map(lambda when: when.replace(microsecond=0).isoformat()),
)


def many(values):
    return st.lists(values, max_size=2, unique=True).map(tuple)


LISTS = {
    "names": many(names),
    "birth_dates": many(dates.map(date.isoformat)),
    "addresses": many(st.builds(Address, street=said, city=words)),
    "phones": many(said),
    "emails": many(said),
    "ids": many(st.builds(Identifier, said, words, words)),
    "kin": many(st.builds(Kin, names, words)),
    "providers": many(names),
    "facilities": many(said),
    "employers": many(said),
}
demographics = st.builds(Demographics, sex=st.sampled_from(["", "F", "M"]), **LISTS)


@st.composite
def records(draw, updated_at=times):
    """Draw a merged record: no current value is former as well."""
    current = draw(demographics)
    former = {
        name: tuple(
            each for each in draw(LISTS[name]) if each not in getattr(current, name)
        )
        for name in SNAPSHOT
    }
    return PatientRecord(
        PatientId("WARD", "4711"),
        draw(updated_at),
        current,
        Demographics(**former),
        draw(many(patient_ids)),
    )
