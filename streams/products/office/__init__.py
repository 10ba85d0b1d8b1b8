"""Commands of the privacy office: dead letters, and the erasure of a patient."""

from __future__ import annotations

from streams.products import Command, Product

PRODUCT = Product(
    commands={
        "erase": Command(
            "products.office.erase_command:erase",
            "Erase a patient, with all linked identifiers; print what remains, and "
            "until when.",
            ("stream",),
        ),
        "dead-letters": Command(
            "products.office.dead_letters_command:app",
            "List, show and replay dead letters.",
            ("stream",),
        ),
    },
    grants={
        "privacy-office": "products.office.grants:privacy_office",
        "erasure": "products.office.grants:erasure",
    },
)
