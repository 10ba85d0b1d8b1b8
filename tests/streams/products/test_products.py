"""What products add to phistream is where their folders say."""

import pkgutil
from pathlib import Path

import pytest

import streams.products
from streams.kafka.acls import Grant, grants
from streams.operations.metrics.catalogue import Metric
from streams.products import NAMES, load, products


def test_every_folder_is_in_the_table():
    folders = {each.name for each in pkgutil.iter_modules(streams.products.__path__)}

    assert folders == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_product_names_is_its_own(name):
    product = products()[name]
    commands = [command.place for command in product.commands.values()]
    places = [*commands, product.metrics, *product.grants.values(), product.proof]

    for place in filter(None, places):
        assert place.startswith(f"products.{name}.")
        assert load(place)


def test_metrics_and_grants_are_those_of_the_core_s_kind():
    for product in products().values():
        metrics = load(product.metrics) if product.metrics else ()
        assert all(isinstance(metric, Metric) for metric in metrics)
        for principal in product.grants:
            assert all(isinstance(grant, Grant) for grant in grants("g")[principal])


def test_the_core_names_no_product_s_module():
    """But for the table of products, as in test_layers.py."""
    root = Path(streams.products.__file__).parents[1]
    core = (
        path
        for room in root.iterdir()
        if room.is_dir() and room.name != "products"
        for path in room.rglob("*.py")
    )
    wrong = [path.name for path in core if "streams.products." in path.read_text()]

    assert wrong == []
