"""`phistream rescrub`: notes that the live feed has published, scrubbed once more.

Start at `job`.
"""

from __future__ import annotations

from streams.products import Command, Product

PRODUCT = Product(
    commands={
        "rescrub": Command(
            "products.rescrub.command:rescrub",
            "Scrub published notes again, into topics of another version.",
            ("documents", "fast", "stream"),
        ),
    },
    grants={"rescrub": "products.rescrub.grants:rescrub"},
    proof="products.rescrub.proof:version_proof",
)
