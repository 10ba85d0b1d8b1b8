"""Writes published topics into Apache Iceberg tables, each record exactly once."""

from __future__ import annotations

from streams.products import Command, Product

PRODUCT = Product(
    commands={
        "lake": Command(
            "products.lake.command:app",
            "Write the published topics into Apache Iceberg tables, exactly once.",
            ("lake",),
        ),
    },
    metrics="products.lake.catalogue:METRICS",
    grants={"lake": "products.lake.grants:lake"},
    settings="products.lake.settings:LakeSettings",
)
