"""What is shown of a narrative, and what is written."""

import pytest
from lxml import etree

from deid_core import Deidentifier, Document, KnownIdentifiers, PersonName
from streams.formats.ccda.narrative import open_narrative

V3 = "urn:hl7-org:v3"
KNOWN = KnownIdentifiers((PersonName(family="Quellwright", given="Edith"),))


@pytest.fixture(scope="module")
def system():
    return Deidentifier.from_names("lexical", "safe-harbor")


def shown_and_written(inside: str, system: Deidentifier) -> tuple[str, str]:
    """Return the text of a narrative, and what is written of it."""
    opened = open_narrative(etree.fromstring(f'<text xmlns="{V3}">{inside}</text>'))
    target = etree.Element(f"{{{V3}}}text", nsmap={None: V3})
    opened.write(target, system.deidentify(Document("1", opened.text, KNOWN)))
    return opened.text, etree.tostring(target, encoding="unicode")


@pytest.mark.parametrize("tag", ["b", "span", "zzz"])
def test_an_element_that_is_not_kept_hides_no_name(system, tag):
    shown, written = shown_and_written(f"Seen: Quell<{tag}/>wright.", system)

    assert shown == "Seen: Quellwright."
    assert "Quell" not in written
    assert "wright" not in written


def test_a_block_that_is_not_kept_parts_lines_in_what_is_written_too(system):
    shown, written = shown_and_written("<p>Stable</p><p>Afebrile</p>home", system)

    assert shown == "Stable\nAfebrile\nhome"
    assert "Stable<br/>Afebrile<br/>home" in written


def test_no_name_comes_together_that_the_text_does_not_have(system):
    _, written = shown_and_written("Seen: Quell<div/>wright.", system)

    assert "Quellwright" not in written
