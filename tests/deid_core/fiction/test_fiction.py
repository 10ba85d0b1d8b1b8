"""Lists of names and places, numbers by plan, dates in patterns, misspellings."""

from __future__ import annotations

import re
from datetime import date
from random import Random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA
from stdnum.us import ssn

from deid_core.fiction.dates import write_date
from deid_core.fiction.gender import Gender
from deid_core.fiction.numbers import (
    AREA_CODES,
    from_pattern,
    phone,
    social_security_number,
)
from deid_core.fiction.people import (
    LOCALES,
    FictionalPeople,
    Source,
    misspelt,
    plain_name,
)
from deid_core.fiction.prebuilt import prebuilt
from tests.packages import build_from

SEEDS = range(200)


@pytest.mark.long
@pytest.mark.parametrize("table", ["names", "places", "people"])
def test_the_tables_are_what_the_packages_hold(table):
    versions = prebuilt(table)["versions"]
    build = build_from("deid_core.fiction.build", versions)

    built = orjson.loads(orjson.dumps(build.TABLES[table]()))

    assert prebuilt(table) == {"versions": versions, **built}


# People


def people(seed, accepts=lambda _: True):
    return FictionalPeople(Random(seed), accepts, ("Young",))


def test_the_same_seed_gives_the_same_people():
    def drawn(seed):
        source = people(seed)
        names = [source.name(Gender.FEMALE) for _ in range(20)]
        return names, source.address(), source.email(names[0])

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.parametrize("locale", LOCALES)
def test_names_and_addresses_are_drawn_as_faker_draws_them(locale):
    build = build_from("deid_core.fiction.build", prebuilt("people")["versions"])
    [faker] = build.Faker(locale, use_weighting=False).factories
    faker.seed_instance(7)
    lists = prebuilt("people")["locales"][locale]
    source = Source(lists, Random(7))

    for kind in sorted(lists.keys() - {"state_abbr"}) * 50:
        assert getattr(faker, kind)() == source.draw(kind)


def test_only_accepted_names_are_drawn_but_for_words():
    source = people(1, lambda name: len(name) < 6)
    names = [source.name(Gender.MALE) for _ in range(100)]

    assert all(len(name.given) < 6 for name in names)
    assert all(len(n.family) < 6 or n.family == "Young" for n in names)
    assert 2 < sum(name.family == "Young" for name in names) < 30


@given(st.text("abcdefghijklmnopqrstuvwxyzé", min_size=5), st.integers())
def test_a_misspelt_word_is_one_edit_away(word, seed):
    """One letter wrong, missing or added, or two neighbours swapped."""
    result = misspelt(word, Random(seed))

    assert OSA.distance(word, result) == 1
    assert word not in result


def test_short_words_are_not_misspelt():
    """One edit in four letters makes too many other words."""
    with pytest.raises(ValueError, match="too short"):
        misspelt("Hill", Random(1))


@pytest.mark.parametrize(
    ("name", "plain"), [("Łuczyk", "luczyk"), ("Geißler", "geisler"), ("José", "jose")]
)
def test_a_plain_name_has_no_accents(name, plain):
    assert plain == plain_name(name)


# Numbers and dates


@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_keep_to_their_plans(seed):
    number = phone(Random(seed))

    assert re.fullmatch(r"[2-9]\d\d[2-9]\d{6}", number)
    assert number[:3] in AREA_CODES
    assert number[4:6] != "11"
    assert ssn.is_valid(social_security_number(Random(seed)))


def test_a_pattern_becomes_letters_and_digits():
    chance = Random(1)

    for _ in range(100):
        drawn = from_pattern("%#-$?&x", chance)
        assert re.fullmatch(r"[1-9]\d-[2-9][A-Z][0-9a-f]x", drawn)


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("{m:02}/{d:02}/{y}", "03/02/2024"),
        ("{m}/{d}/{yy:02}", "3/2/24"),
        ("{d:02}{MONTH:.3}{y}", "02MAR2024"),
        ("{weekday:.3}, {nth} of {month}", "Sat, 2nd of March"),
    ],
)
def test_a_date_is_written_in_a_pattern(pattern, written):
    assert written == write_date(date(2024, 3, 2), pattern)


@pytest.mark.parametrize(
    ("day", "nth"), [(1, "1st"), (3, "3rd"), (11, "11th"), (13, "13th"), (22, "22nd")]
)
def test_a_day_has_its_ordinal(day, nth):
    assert nth == write_date(date(2024, 1, day), "{nth}")


def test_months_can_be_of_another_language():
    months = tuple(f"mes {n}" for n in range(1, 13))

    assert write_date(date(2024, 3, 2), "{d} de {month}", months) == "2 de mes 3"
