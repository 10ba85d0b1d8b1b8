"""`phistream map`: which fields of JSON events are those of a note."""

from __future__ import annotations

from streams.products import Command, Product

PRODUCT = Product(
    commands={
        "map": Command(
            "products.map.command:map_",
            "Propose a map of JSON events to note events; or check one, exit 1 on "
            "refusals.",
        ),
    },
)
