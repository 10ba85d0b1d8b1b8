"""The MLLP listener: messages from the hospital's interfaces to `hl7.raw`."""

from __future__ import annotations

from streams.products import Command, Product

PRODUCT = Product(
    commands={
        "mllp": Command(
            "products.mllp.command:mllp",
            "Take HL7 v2 messages by MLLP to hl7.raw until SIGTERM or Ctrl-C.",
            ("stream",),
        ),
    },
    metrics="products.mllp.catalogue:METRICS",
    grants={"mllp": "products.mllp.grants:mllp"},
    settings="products.mllp.settings:MllpSettings",
)
