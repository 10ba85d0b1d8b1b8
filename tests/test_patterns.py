"""No pattern of the product is one that an old regular expression engine gets wrong."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests import patterns


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:ab)*+c",
        r"(?:a|bc){1,4}+",
        r"(a)?+",
        r"(?>a+)b",
        r"x(?=(?:ab)++)",
        r"(?:a|(?:b|(?<!c)(?:ab)++))",
        r"(?i:(?:a b)*+)",
        r"(a)(?(1)(?:ab)++|c)",
        r"(?!(?>a))",
    ],
)
def test_an_unsound_pattern_is_found_wherever_it_is_nested(pattern):
    assert patterns.unsound(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"[a-z]*+b",
        r"a++",
        r".?+",
        r"\d{2,4}+",
        r"[^\W\d_]++(?:-[a-z]++)*",
        r"\(?:ab\)*",
    ],
)
def test_possessive_quantifiers_over_one_character_are_sound(pattern):
    assert patterns.unsound(pattern) == []


def test_text_that_only_looks_like_a_quantifier_is_no_finding():
    assert [] == patterns.unsound(r"[(?:ab)*+]") == patterns.unsound(r"\)\*\+(?:ab)*")


def test_every_pattern_of_the_product_is_sound():
    """Patterns made while a note is read included; in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.patterns"],
        cwd=patterns.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [count] = re.findall(r"^(\d+) patterns of the project", done.stdout, re.MULTILINE)
    assert int(count) > 300
