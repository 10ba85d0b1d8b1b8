"""Rules for phone numbers and addresses online: Safe Harbor (D) to (F), (N) and (O)."""

from __future__ import annotations

from . import extensions, internet, phones, user_names

RULES = (
    *phones.RULES,
    *extensions.RULES,
    *internet.RULES,
    *user_names.RULES,
)
