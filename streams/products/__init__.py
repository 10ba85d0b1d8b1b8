"""Products around the core, which imports none of them.

A product is a folder.  Its ``__init__`` says in ``PRODUCT`` what it adds to phistream:
commands, metrics, grants, settings; nothing else of it is imported for that.  A new one
needs its folder, and its name in `NAMES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

NAMES = ("research", "mllp", "gateway", "office", "rescrub", "map", "lake")
"""In the order of the help."""


class Command(NamedTuple):
    """A command, which is imported when it is called.

    Args:
        place: Its function or group, as `load` takes it.
        summary: The first paragraph of its help.
        extras: Of the package; all that the command needs.
    """

    place: str
    summary: str
    extras: tuple[str, ...] = ()


class Product(NamedTuple):
    """The parts of a product that phistream as a whole knows, by their places.

    Args:
        commands: By name.
        metrics: The declarations of all that it exports.
        grants: By principal, a function of the group's name that returns its grants.
        proof: A function that reconciles what the product published; see
            ``phistream reconcile --version``.
        settings: The class of its table of settings, a `ProductSettings`.
    """

    commands: Mapping[str, Command] = {}
    metrics: str = ""
    grants: Mapping[str, str] = {}
    proof: str = ""
    settings: str = ""


@cache
def products() -> Mapping[str, Product]:
    """Return all products by name."""
    return {name: import_module(f"{__name__}.{name}").PRODUCT for name in NAMES}


def load(place: str) -> Any:  # noqa: ANN401 (the caller knows what is there)
    """Return what is at a place: ``module:name``, the module below `streams`."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"streams.{module}"), name)
