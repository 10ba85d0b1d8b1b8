"""Forms of address are no part of a name."""

import pytest

from deid_core.detectors.name_edges import after_address, is_drug


@pytest.mark.parametrize(
    ("marked", "name"),
    [
        ("bed 3 «alhaji sani danladi» 71", "sani danladi"),
        ("Re: «Madam YEUNG Sau Fong»", "YEUNG Sau Fong"),
        ("«Dr. Jane Roe, MD», cardiology", "Jane Roe, MD"),
        ("«Lola Osei» is guardian", "Lola Osei"),
        ("Nurse «Kim Do»", "Kim Do"),
        ("son «Datuk Ravi» pays", "Ravi"),
        ("lives with «Nana»", "Nana"),
        ("«Roe, Jane»", "Roe, Jane"),
        ("«K.D.»", "K.D."),
        ("«Ma»", "Ma"),
    ],
)
def test_only_the_name_is_left(marked, name):
    before, value, after = marked.replace("»", "«").split("«")
    start = len(before)

    end = start + len(value)

    assert (before + value + after)[
        after_address(before + value + after, start, end) : end
    ] == name


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("Potassium", True), ("Heather", False), ("Ella", False), ("Quellwright", False)],
)
def test_a_drug_that_is_nobodys_name_is_told(word, is_one):
    assert is_drug(word) is is_one
