"""A few hundred inputs of the fuzzer, always the same ones; see tests/benchmarks/fuzz.

Real messages are left out, so that the inputs do not depend on what a machine has.
"""

import base64

import pytest

from tests.benchmarks import fuzz, fuzz_inputs
from tests.benchmarks.fuzz import FAULTS, Tally, check, masked, run, views
from tests.benchmarks.fuzz_inputs import FORMATS, Input, input_of
from tests.sampling import examples

SEED, INPUTS = 1, examples(80)


@pytest.fixture(autouse=True)
def invented(monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz_inputs, "REAL_HL7", tmp_path / "none")
    monkeypatch.setattr(fuzz, "REALLY_SCRUBBED", INPUTS * 100)
    fuzz_inputs.samples.cache_clear()
    yield
    fuzz_inputs.samples.cache_clear()


@pytest.mark.parametrize("name", FORMATS)
def test_mutated_inputs_are_rebuilt_or_refused(name):
    # Index 0 is scrubbed by the real scrubber, which the benchmark does.
    tally = run(SEED, range(1, INPUTS + 1), name, cpu_seconds=20)

    assert tally.faults == []
    assert tally.inputs[name] == INPUTS


@pytest.mark.parametrize("name", FORMATS)
def test_an_input_can_be_replayed(name):
    assert input_of(SEED, 7, name) == input_of(SEED, 7, name)
    assert input_of(SEED, 7, name) != input_of(SEED + 1, 7, name)


@pytest.mark.parametrize("name", ["hl7", "fhir"])
def test_most_inputs_hold_markers_and_many_are_rebuilt(name):
    """The tests above would pass as well if everything were refused."""
    tally = run(SEED, range(1, INPUTS + 1), name, cpu_seconds=20)
    marked = [input_of(SEED, n, name) for n in range(INPUTS)]
    with_markers = [
        each
        for each in marked
        if any(marker.encode() in each.value for marker in each.markers)
    ]

    assert tally.outcomes[name, "rebuilt"] > INPUTS / 4
    assert len(with_markers) > INPUTS / 2


MESSAGE = (
    b"MSH|^~\\&|A|B|||||ORU^R01|1|P|2.5\rPID|1||Qzmarker^^^A^MR\rOBX|1|TX|||Qzmarker"
)


def faults_of(given):
    tally = Tally()
    check(given, tally)
    assert all(each.kind in FAULTS for each in tally.faults)
    return [(each.kind, each.what) for each in tally.faults]


def test_a_marker_that_passes_is_a_fault(monkeypatch):
    given = Input("hl7", 1, MESSAGE, ("Qzmarker",))
    assert faults_of(given) == []

    monkeypatch.setattr(fuzz, "masked", lambda text, markers: masked(text, ()))

    assert faults_of(given) == [("passed", "the rebuilt message")]


def test_another_exception_is_a_fault_and_not_shown(monkeypatch):
    def broken(value):
        raise KeyError("Qzmarker")

    monkeypatch.setattr(fuzz, "route", broken)

    [(kind, what)] = faults_of(Input("hl7", 1, MESSAGE, ("Qzmarker",)))

    assert kind == "crash"
    assert "KeyError" in what
    assert "Qzmarker" not in what


def test_an_input_that_takes_too_long_is_a_fault(monkeypatch):
    def endless(value):
        while True:
            pass

    monkeypatch.setattr(fuzz, "recognise", endless)
    tally = Tally()

    check(Input("hl7", 1, MESSAGE, ()), tally, 0.02)

    assert {each.kind for each in tally.faults} == {"slow"}


@pytest.mark.parametrize(
    ("value", "format_"),
    [
        (b"MSH|^~\\&|A\rOBX|1|TX|||Qz\\X6D\\arker", "hl7"),
        (b'{"a": "Qz\\u006darker"}', "fhir"),
        (b"<a>Qz&#109;arker</a>", "ccda"),
        (b"OBX|" + base64.b64encode(b"Qzmarker " * 6), ""),
    ],
)
def test_a_marker_is_seen_in_other_ways_of_writing(value, format_):
    assert any("Qzmarker" in each for each in views(value, format_))
