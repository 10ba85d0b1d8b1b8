from dataclasses import replace

import pytest

from deid_core import Annotation, Deidentifier, Document, Label, Span
from deid_core.propagation import propagated

DEIDENTIFIER = Deidentifier.from_names("lexical")


def proposal(text, value, label=Label.DOCTOR, score=0.9):
    start = text.index(value)
    return Annotation(Span(start, start + len(value)), label, score, "rules", "test")


def repeated(text, *proposals, patient=""):
    document = Document("d1", text, patient=patient)
    [found] = propagated([document], [list(proposals)])
    return sorted(text[a.span.start : a.span.end] for a in found)


def test_a_name_found_once_is_found_everywhere():
    text = "Dr. Reitman saw him. According to Reitman, he is well. Reitman's plan."

    assert repeated(text, proposal(text, "Reitman")) == ["Reitman", "Reitman"]


def test_each_part_of_a_name_is_looked_for():
    text = "Jane Kowalski was seen. Kowalski was told."

    assert repeated(text, proposal(text, "Jane Kowalski", Label.PATIENT)) == [
        "Kowalski"
    ]


def test_a_name_is_found_in_capitals_too():
    text = "Jane Kowalski was seen. KOWALSKI, J. was told."

    assert repeated(text, proposal(text, "Jane Kowalski", Label.PATIENT)) == [
        "KOWALSKI"
    ]


def test_the_most_trusted_proposal_says_what_an_echo_is_called():
    text = "Dr. Jane Kowalski came. Kowalski left."
    proposals = [
        proposal(text, "Jane Kowalski", Label.DOCTOR, 0.92),
        proposal(text, "Jane Kowalski", Label.PATIENT, 0.9),
    ]
    [found] = propagated([Document("d1", text)], [proposals])

    assert [each.label for each in found] == [Label.DOCTOR]


def test_only_values_of_the_patient_record_are_left_to_their_own_detector():
    text = "Dr. Reitman saw him. According to Reitman, he is well."
    [found] = [proposal(text, "Reitman")]

    assert repeated(text, replace(found, detector="known", rule="provider")) == []
    assert repeated(text, replace(found, detector="known_words")) == ["Reitman"]


def test_the_name_of_a_device_stays():
    text = "Dr. Foley placed a Foley catheter."

    assert repeated(text, proposal(text, "Foley")) == []


def test_a_word_that_is_also_a_name_is_not_looked_for():
    text = "Ms. Young is here. Young women were seen."

    assert repeated(text, proposal(text, "Young", Label.PATIENT)) == []


def test_a_word_that_is_surely_a_name_here_is_found_where_its_capital_says_so():
    text = "Jane Weeks is here. We asked Weeks to rest for two weeks. Weeks has left."

    found = repeated(text, proposal(text, "Jane Weeks", Label.PATIENT))

    assert found == ["Weeks", "Weeks"]


def test_a_word_that_is_hardly_a_name_is_found_nowhere_else():
    text = "Jane Weeks is here. We asked Weeks to rest."

    assert repeated(text, proposal(text, "Jane Weeks", Label.PATIENT, 0.5)) == []


def test_a_word_in_a_heading_is_no_echo_of_a_name():
    text = "Dr. Pain came. History of Pain Syndrome, and of Back Pain. Pain is 3/10."

    assert repeated(text, proposal(text, "Pain")) == []


def test_what_is_hardly_trusted_is_not_looked_for():
    text = "Dr. Reitman saw him. Reitman left."

    assert repeated(text, proposal(text, "Reitman", score=0.5)) == []


def test_an_id_is_looked_for_as_a_whole():
    text = "MRN ST-998877. Refer to ST-998877, not ST-9988771."

    assert repeated(text, proposal(text, "ST-998877", Label.MEDICALRECORD)) == [
        "ST-998877"
    ]


def test_the_notes_of_one_patient_share_what_was_found():
    texts = ["Dr. Reitman saw him.", "According to Reitman, he is well."]
    proposals = [[proposal(texts[0], "Reitman")], []]

    def second(*patients):
        documents = [
            Document(f"d{at}", text, patient=patient)
            for at, (text, patient) in enumerate(zip(texts, patients, strict=True))
        ]
        return len(propagated(documents, proposals)[1])

    assert second("p1", "p1") == 1
    assert second("p1", "p2") == 0
    assert second("", "") == 0


def test_echoes_reach_the_scrubbed_text():
    scrubbed = DEIDENTIFIER.deidentify(
        Document("d1", "Dr. Reitman saw him today. According to Reitman, he is well.")
    )

    assert "Reitman" not in scrubbed.text
    assert any(a.source == "echo/doctor" for a in scrubbed.annotations)


@pytest.mark.parametrize(
    ("text", "name", "again"),
    [
        ("Dr. Wu agrees. Wu to scope.", "Wu", ["Wu"]),
        ("told ansgar; ansgar calls", "ansgar", ["ansgar"]),
        ("Dr. Sztorc and the Sztorcs, SZTORC", "Sztorc", ["SZTORC", "Sztorcs"]),
        ("Mr. Reitman: reitman npo", "Reitman", ["reitman"]),
        ("Mr. Foley: foley out", "Foley", []),
    ],
)
def test_a_name_is_found_again_short_small_or_of_a_family(text, name, again):
    assert sorted(repeated(text, proposal(text, name, Label.PATIENT, 0.9))) == again


def test_what_is_doubtful_at_two_places_is_found_at_the_third():
    text = "saw Reitman; Reitman ate; Reitman left"
    first = proposal(text, "Reitman", Label.PATIENT, 0.4)
    second = replace(first, span=Span(13, 20))

    assert repeated(text, first) == []
    assert repeated(text, first, second) == ["Reitman"]


def test_small_words_of_a_name_that_no_list_has_are_found_nowhere_else():
    text = "su hermana de los; la hermana de todos los"

    assert repeated(text, proposal(text, "hermana de los", Label.PATIENT)) == []
