"""Check digits of identifiers, for `Rule.is_valid`.

Most are python-stdnum's; those that it lacks are here with their source.
"""

from __future__ import annotations

import re

import phonenumbers
from stdnum import ean, iban, luhn
from stdnum.gb import nhs
from stdnum.in_ import aadhaar
from stdnum.us import ein, itin

_NRIC_WEIGHTS = (2, 7, 6, 5, 4, 3, 2)
# Immigration and Checkpoints Authority of Singapore: letters by the remainder of 11.
_NRIC_LETTERS = {
    "S": (0, "JZIHGFEDCBA"),
    "T": (4, "JZIHGFEDCBA"),
    "F": (0, "XWUTRQPNMLK"),
    "G": (4, "XWUTRQPNMLK"),
    "M": (3, "XWUTRQPNJLK"),
}
# 49 CFR 565.15, tables III and IV.
_VIN_VALUES = dict(
    zip(
        "0123456789ABCDEFGHJKLMNPRSTUVWXYZ",
        (*range(10), *range(1, 9), *range(1, 6), 7, 9, *range(2, 10)),
        strict=True,
    )
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def _compact(match: re.Match[str]) -> str:
    value = match["phi"] if "phi" in match.re.groupindex else match[0]
    return re.sub("[^0-9A-Za-z]", "", value).upper()


def is_nric(match: re.Match[str]) -> bool:
    """Return whether it is an identity number of Singapore (NRIC or FIN)."""
    value = _compact(match)
    offset, letters = _NRIC_LETTERS[value[0]]
    digits = map(int, value[1:8])
    total = sum(w * d for w, d in zip(_NRIC_WEIGHTS, digits, strict=True))
    return letters[(total + offset) % 11] == value[8]


def is_vin(match: re.Match[str]) -> bool:
    """Return whether it is a vehicle's number (49 CFR 565.15: the ninth sign)."""
    value = _compact(match)
    if value.isdigit() or value.isalpha():
        return False
    pairs = zip(_VIN_WEIGHTS, value, strict=True)
    remainder = sum(weight * _VIN_VALUES[sign] for weight, sign in pairs) % 11
    return value[8] == "0123456789X"[remainder]


def is_npi(match: re.Match[str]) -> bool:
    """Return whether it is a US provider's number (45 CFR 162.406: Luhn, 80840)."""
    return luhn.is_valid("80840" + _compact(match))


def is_dea(match: re.Match[str]) -> bool:
    """Return whether it is a prescriber's number (DEA: the last of seven digits)."""
    digits = [int(sign) for sign in _compact(match)[2:]]
    total = sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])
    return total % 10 == digits[6]


def is_card(match: re.Match[str]) -> bool:
    """Return whether it is a payment card's number (ISO/IEC 7812: Luhn)."""
    return luhn.is_valid(_compact(match))


def is_gtin(match: re.Match[str]) -> bool:
    """Return whether a device's number begins with a trade item number (GS1)."""
    return ean.is_valid(match["gtin"])


def is_iban(match: re.Match[str]) -> bool:
    """Return whether it is a bank account's number (ISO 13616)."""
    return iban.is_valid(_compact(match))


def is_itin(match: re.Match[str]) -> bool:
    """Return whether it is a US individual taxpayer's number."""
    return itin.is_valid(match[0])


def is_ein(match: re.Match[str]) -> bool:
    """Return whether it is a US employer's number."""
    return ein.is_valid(match[0])


def is_aadhaar(match: re.Match[str]) -> bool:
    """Return whether it is an identity number of India (Verhoeff)."""
    return aadhaar.is_valid(_compact(match))


def is_nhs_number(match: re.Match[str]) -> bool:
    """Return whether it is a patient's number in England, and no US phone number."""
    digits = _compact(match)
    if not nhs.is_valid(digits):
        return False
    as_phone = phonenumbers.parse(digits, "US")
    return not phonenumbers.is_valid_number(as_phone)
