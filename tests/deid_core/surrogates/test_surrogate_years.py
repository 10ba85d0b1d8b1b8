"""Years that may stay, and those that reveal an age over 89, under every policy."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import (
    Annotation,
    Document,
    KnownIdentifiers,
    Label,
    Span,
    known_policies,
    load_policy,
)
from deid_core.policy import Policy
from deid_core.replace import Replacer
from deid_core.surrogates.calendar import RELEASED
from tests.deid_core.surrogates.surrogate_cases import KEY
from tests.sampling import examples

OLD = f"{RELEASED - 90} or earlier"
YEARS = Policy("t", "tag", {Label.DATE: "year", Label.AGE: "generalise"})
MARK = re.compile(r"«([^»]*)»")


def replaced(note, policy=YEARS, *, known=None, patient="p1"):
    """Return the replacements of marked dates, and of ages marked "|AGE"."""
    text, annotations = "", []
    for at, piece in enumerate(MARK.split(note)):
        value, _, label = piece.partition("|") if at % 2 else (piece, "", "")
        if at % 2:
            span = Span(len(text), len(text) + len(value))
            annotations.append(Annotation(span, Label(label or "DATE"), 1.0, "t/x"))
        text += value
    document = Document("n1", text, known or KnownIdentifiers(), patient)
    written = Replacer(policy, KEY).replacements(document, annotations)
    return [each.surrogate for each in written]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("5/17/2020", "2020"),
        ("2020-05-17T10:30:00Z", "2020"),
        ("20200517", "2020"),
        ("17.05.2020", "2020"),
        ("Tuesday, May 17, 2022 at 10:30", "2022"),
        ("17 MAY 2020", "2020"),
        ("May 2020", "2020"),
        ("05/2020", "2020"),
        ("2020", "2020"),
        ("fall of 2019", "2019"),
        ("Q3 2019", "2019"),
        ("Christmas Day 2023", "2023"),
        ("March 5-8, 2024", "2024"),
        ("3/14/2024-3/20/2024", "2024"),
        ("12/28/2023 to 1/3/2024", "2023 to 2024"),
        ("3/14 to 3/20/2024", "2024"),
        ("5/17/20", "[DATE]"),
        ("'19", "[DATE]"),
        ("May '20", "[DATE]"),
        ("5/17", "[DATE]"),
        ("March 14", "[DATE]"),
        ("Tuesday", "[DATE]"),
        ("Thanksgiving", "[DATE]"),
        ("3/14/2024 to 3/20/25", "[DATE]"),
        ("2/30/2024", "[DATE]"),
        ("1990s", "[DATE]"),
        ("some day in 2020", "[DATE]"),
    ],
)
def test_a_date_becomes_the_year_that_it_shows(text, written):
    assert replaced(f"on «{text}».") == [written]


def test_a_policy_says_so_by_one_key_also_for_a_note_type(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        'name="a"\ndefault="tag"\ndates="year"\n[note_type.b]\ndates="remove"\n',
        "utf-8",
    )
    policy = load_policy(str(path))

    assert policy.style(Label.DATE) == "year"
    assert policy.style(Label.DATE, "b") == "remove"
    assert replaced("«5/17/2020»", policy) == ["2020"]


@pytest.mark.parametrize(
    ("note", "written"),
    [
        ("DOB: «3/14/1932»", [OLD]),
        ("DOB: «3/14/32»", [OLD]),
        (f"born «{RELEASED - 90}»", [OLD]),
        (f"born «{RELEASED - 89}»", [str(RELEASED - 89)]),
        ("«3/14/1931 to 1/1/1950»", [OLD]),
        ("from «1931» to «1950»", [OLD, "1950"]),
        ("born «1/2/1948», seen «3/4/2040»", ["1950 or earlier", "2040"]),
        ("«92|AGE» year old, «3/14/32»", ["90+", OLD]),
        ("«3/14/2024»: «3/14/32»", ["2024", OLD]),
        ("DOB «3/14/10», «92|AGE», «1/1/2001»", [OLD, "90+", "2001"]),
        ("DOB «3/14/1950», «5/17/20»", ["1950", "[DATE]"]),
        ("b. «Mar 14 '31»", [OLD]),
        ("Until «12/31/2099»; born «1950»", ["2099", "1950"]),
    ],
)
def test_a_year_that_may_reveal_an_age_over_89_is_one_category(note, written):
    assert written == replaced(note)


def test_a_birth_date_of_the_record_is_known_by_two_digits():
    known = KnownIdentifiers(birth_dates=(date(1930, 3, 14),))

    assert replaced("«03/14/30»", known=known) == [OLD]
    assert replaced("«03/15/30»", known=known) == ["[DATE]"]


def test_a_policy_that_keeps_ages_keeps_the_years_that_reveal_them():
    policy = load_policy("limited-data-set")

    assert replaced("DOB «3/14/1932»", policy) == ["3/14/1932"]


def test_dates_that_a_policy_keeps_do_not_reveal_the_age_that_it_hides(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('name="a"\ndefault="tag"\ndates="keep"\n', "utf-8")

    assert replaced("DOB «3/14/1932», seen «3/14/2024»", load_policy(str(path))) == [
        OLD,
        "3/14/2024",
    ]


FORMATS = ["%m/%d/%Y", "%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%Y%m%d", "%Y", "%m/%Y"]
SHORT = ["%m/%d/%y", "%m-%d-%y", "%d %b %y"]
NO_AGES = [name for name in known_policies() if name != "limited-data-set"]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from([*NO_AGES, "year"]),
    st.dates(date(1990, 1, 1), date(2080, 12, 31)),
    st.integers(0, 20),
    st.sampled_from(FORMATS + SHORT),
    st.integers(0, 500),
)
def test_no_birth_year_reveals_an_age_over_89(policy, visit, more, form, patient):
    """
    Whatever the format, the policy and the year: who was 90 at the visit is not dated.
    """
    birth = visit.replace(year=visit.year - 90 - more, day=min(visit.day, 28))
    # Of two digits, a note that shows no age may well mean the future.
    cue = "DOB: " if form in SHORT else ""
    note = f"«{90 + more}|AGE» y/o, {cue}«{birth.strftime(form)}», «{visit:%m/%d/%Y}»"
    loaded = YEARS if policy == "year" else load_policy(policy)

    age, born, seen = replaced(note, loaded, patient=str(patient))

    assert age in ("90+", "[AGE]")
    assert seen != "[AGE]"
    if born.startswith("["):
        return
    found = re.fullmatch(r"(\d{4}) or earlier", born)
    year = int(re.search(r"\d{4}", seen)[0])
    assert found
    assert abs(max(year, RELEASED) - 90 - int(found[1])) <= 1


@settings(max_examples=examples(200), deadline=None)
@given(
    st.dates(date(RELEASED - 88, 1, 1), date(RELEASED, 12, 31)),
    st.sampled_from(FORMATS),
)
def test_younger_years_stay(birth, form):
    assert replaced(f"DOB: «{birth.strftime(form)}»") == [str(birth.year)]


def test_the_end_of_time_is_not_moved():
    assert replaced("until «12/31/2099»", load_policy("surrogate")) == ["[DATE]"]
