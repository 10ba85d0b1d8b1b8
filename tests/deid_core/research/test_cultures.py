"""Names by locale, and places by country, from packages."""

from __future__ import annotations

from random import Random

import pytest

from deid_core import ConfigError
from deid_core.fiction.gender import Gender
from deid_core.research.cultures import (
    Culture,
    Pool,
    culture_of,
    family_names_of,
    given_names_of,
)
from deid_core.research.gazetteer import country_names, subdivisions, towns_by_size


@pytest.mark.parametrize("locale", ["de_DE", "ja_JP", "zh_TW"])
def test_a_culture_has_names_in_latin_letters(locale):
    culture = culture_of(locale, lambda names: tuple(sorted({*names})))

    pools = (culture.family, *culture.given.values())
    assert culture.given.keys() == {Gender.FEMALE, Gender.MALE}
    assert all(pool.values for pool in pools)
    assert all(ord(name[0]) < 0x250 for pool in pools for name in pool.values)


def test_names_and_places_go_by_locale():
    assert "Carmen" in given_names_of("es_ES")
    assert "Smith" in family_names_of("en_US")
    assert "Alemania" in country_names("es")
    assert "Navarra" in subdivisions("ES")
    assert "Toledo" in {name for name, _ in towns_by_size("ES")}
    assert all(size >= 15_000 for _, size in towns_by_size("ES", 15_000))


def test_an_unknown_locale_is_refused():
    with pytest.raises(ConfigError, match="'xx_XX'"):
        given_names_of("xx_XX")


def test_a_pool_draws_by_weight():
    pool = Pool(("rare", "frequent"), (1.0, 100.0))

    drawn = pool.sample(Random(1), 200)

    assert {"rare", "frequent"} >= {*drawn}
    assert drawn.count("frequent") > 180
    assert Pool(("only",)).draw(Random(1)) == "only"


def test_no_repr_shows_a_name():
    pool = Pool(("Quellwright",))

    assert "Quellwright" not in repr(Culture({Gender.FEMALE: pool}, pool))
