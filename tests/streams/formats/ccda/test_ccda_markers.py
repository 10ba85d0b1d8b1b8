"""No marker of any attribute or text of any element is in any output."""

from __future__ import annotations

import base64

import pytest
from lxml import etree

from deid_core import KnownIdentifiers, PersonName
from tests.streams.formats.ccda.markers import Markers
from tests.streams.formats.ccda.scrubbing import part, rebuilt, sample

CODED = frozenset(
    {"code", "codeSystem", "unit", "root", "type", "mediaType", "representation"}
)


def leaked(value: bytes, markers: Markers, policy: str) -> list[str]:
    """Return the paths of the markers that are in the output."""
    names = tuple(PersonName(family=each) for each in markers.by_path.values())
    of = part(value)
    written = rebuilt(of, policy, KnownIdentifiers(kin_names=names))
    etree.fromstring(written.value)
    shown = [written.value.decode(), repr(written.removed), repr(written.unreadable)]
    text = "\n".join([*shown, repr(of.skipped)]).lower()
    return [
        path
        for path, each in markers.by_path.items()
        if each.lower() in text
        or base64.b64encode(each.encode()).decode().strip("=")[:-2].lower() in text
    ]


@pytest.mark.long
@pytest.mark.parametrize("policy", ["surrogate", "i2b2"])
def test_no_marker_of_any_element_with_a_rule_is_written(policy):
    markers = Markers()

    assert leaked(markers.document(), markers, policy) == []
    assert len(markers.by_path) > 3000


@pytest.mark.parametrize("name", ["ccd", "discharge", "referral"])
def test_no_marker_is_written_where_codes_are_valid(name):
    markers = Markers()
    value = markers.fill(etree.fromstring(sample(name)), but=CODED | {"tail", "text"})

    assert leaked(value, markers, "surrogate") == []
    assert len(markers.by_path) > 60


@pytest.mark.parametrize("name", ["ccd", "discharge", "referral"])
def test_no_marker_of_an_attribute_or_text_is_written(name):
    markers = Markers()
    value = markers.fill(etree.fromstring(sample(name)), but=frozenset())

    assert leaked(value, markers, "surrogate") == []
