"""Words as numbers."""

import sys
from dataclasses import replace

import numpy as np

from deid_core import Deidentifier, Document
from deid_core.config import load_preset
from deid_core.detectors.patient_record.hashed_words import digested
from deid_core.document import KnownIdentifiers, PersonName
from deid_core.language.lexicons.normal import normal
from deid_core.policy import load_policy

# Letters whose compared form holds a blank: in exports of Arabic text, and in Greek.
WITH_BLANK = [
    chr(code)
    for code in range(sys.maxunicode + 1)
    if chr(code).isalnum() and " " in normal(chr(code))
]


def test_a_word_has_the_same_numbers_whatever_stands_before_it():
    assert WITH_BLANK
    for letter in WITH_BLANK:
        odd, name = normal(letter), normal("Müller")
        together, alone = digested([odd, name, ""]), digested([name])

        for numbers, own in zip(together, alone, strict=True):
            assert own[0] == numbers[1]
        assert together.lengths.tolist() == [len(odd), len(name), 0]


def test_no_words_have_no_numbers():
    assert [len(each) for each in digested([])] == [0, 0, 0]


def test_a_name_is_found_beside_letters_that_hold_a_blank():
    known = KnownIdentifiers(patient_names=(PersonName("Žvukić", "Ćiro"),))
    # Most of these letters are of languages that the preset does not read.
    preset = replace(load_preset("lexical"), languages=())
    system = Deidentifier.from_config(preset, load_policy("safe-harbor"))
    for letter in WITH_BLANK:
        for count in (1, 3, 40):
            text = f"{(letter + ' ') * count}und Ćiro Žvukić kam."
            [found] = system.deidentify_batch([Document("d", text, known=known)])

            assert "Žvukić" not in found.text
            assert "Ćiro" not in found.text


def test_numbers_are_of_64_bits():
    assert {each.dtype for each in digested(["roe"])[:2]} == {np.dtype(np.uint64)}
