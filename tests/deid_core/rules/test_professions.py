import pytest

from deid_core.labels import Label
from deid_core.language.fragments import words
from deid_core.language.lexicons import load_list
from tests.deid_core.rules.rule_examples import labels_of

JOBS = ("plumber", "truck driver", "school bus driver", "office manager", "teacher")
FRAMES = (
    "She works as a {}.",
    "He is employed as the {} of a firm.",
    "Occupation: {}\n",
    "a retired {}, who",
    "a {} by trade.",
    "The patient is a {}.",
    "a 45-year-old {} with cough",
)


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("change", [str, str.upper])
def test_finds_what_the_patient_does(frame, job, change):
    text = change(frame.format(job))

    assert Label.PROFESSION in labels_of(text, change(job))


@pytest.mark.parametrize(
    "job",
    words(
        """
        plumber miner schoolteacher milkman candlemaker cheesemonger headmaster
        dressmaker steelworker stonemason shipwright lighthouse-keeper cobbler
        """
    ),
)
@pytest.mark.parametrize("frame", ["a retired {}, who", "Retired {}.", "RETIRED {}\n"])
def test_a_retired_person_of_any_trade_is_found(frame, job):
    job = job.replace("-", " ")
    text = frame.format(job.upper() if frame.isupper() else job)

    assert Label.PROFESSION in labels_of(text, job.upper() if frame.isupper() else job)


@pytest.mark.parametrize(
    "text",
    [
        "He is a gentleman",
        "she is a homemaker",
        "functions as a pacemaker",
        "a 45-year-old woman",
        "she is a coworker",
        "retired however",
        "is a retired German",
    ],
)
def test_what_only_ends_like_a_trade_stays(text):
    assert not any(Label.PROFESSION in labels_of(text, word) for word in text.split())


@pytest.mark.parametrize("job", words("nurse physician surgeon therapist pharmacist"))
def test_who_treats_the_patient_stays(job):
    for frame in ("seen by the {}", "She is a {}.", "her former {}", "the {} agreed"):
        assert labels_of(frame.format(job), job) == set()


@pytest.mark.parametrize("job", words("nurse physician surgeon"))
def test_a_patient_who_was_one_does_not(job):
    assert labels_of(f"a retired {job}.", job) == {Label.PROFESSION}


@pytest.mark.parametrize(
    "text",
    [
        "referred to social work",
        "works as expected",
        "former smoker",
        "he is a poor historian",
        "Occupation: retired",
        "45-year-old male, Ken Baker,",
        "she is a good candidate",
    ],
)
def test_cues_without_a_profession_stay(text):
    assert not any(
        Label.PROFESSION in labels_of(text, word.strip(",.")) for word in text.split()
    )


def test_the_list_holds_nouns_in_the_singular():
    occupations = load_list("occupations")

    assert all(each.isalpha() and each.islower() for each in occupations)
    assert not {"smith", "model", "volunteer"} & occupations
