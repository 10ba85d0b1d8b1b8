"""Forms of address and degrees are no part of a name."""

import pytest

from deid_core.detectors.name_edges import without_address


@pytest.mark.parametrize(
    ("marked", "name"),
    [
        ("bed 3 «alhaji sani danladi» 71", "sani danladi"),
        ("Re: «Madam YEUNG Sau Fong»", "YEUNG Sau Fong"),
        ("seen by «Aoibhinn Roe OT»", "Aoibhinn Roe"),
        ("«Dr. Jane Roe, MD, PhD», cardiology", "Jane Roe"),
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

    found = without_address(before + value + after, start, start + len(value))

    assert (before + value + after)[slice(*found)] == name
