"""`phistream serve`: notes, messages and documents scrubbed over HTTP, without Kafka.

Nothing is stored.  One process (`server`, `guard`, `app`) speaks HTTP and sees bodies
as bytes only.  All that reads or scrubs them runs in worker processes (`scrubbing`),
which `pool` starts, limits and replaces.
"""

from __future__ import annotations

from streams.products import Command, Product

PRODUCT = Product(
    commands={
        "serve": Command(
            "products.gateway.command:serve",
            "Scrub notes, messages and documents over HTTP; /docs describes the paths.",
            ("documents", "fast", "gateway"),
        ),
    },
    metrics="products.gateway.catalogue:METRICS",
    settings="products.gateway.settings:GatewaySettings",
)
