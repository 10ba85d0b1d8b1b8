from concurrent.futures import ThreadPoolExecutor

import pytest

from deid_core import ConfigError, Deidentifier, Document, OtherLanguage, text
from deid_core.text import deidentify

KEY = bytes(range(32))
NOTE = "Mr. Aldous Fenwick, MRN 4471902, was admitted on 2 March 2024."


@pytest.fixture
def built(monkeypatch):
    """The systems that were built, of those that others have left."""
    systems = []
    build = Deidentifier.from_config.__func__

    def from_config(cls, *args):
        systems.append(args)
        return build(cls, *args)

    monkeypatch.setattr(Deidentifier, "from_config", classmethod(from_config))
    text._system.cache_clear()
    yield systems
    text._system.cache_clear()


def test_a_text_is_scrubbed_as_a_document_is_by_default():
    expected = Deidentifier.from_names().deidentify(Document("n", NOTE)).text

    assert expected == "Mr. [NAME:PATIENT], MRN [ID:IDNUM], was admitted on [DATE]."
    assert expected == deidentify(NOTE)


def test_the_system_is_built_once_whatever_the_number_of_threads(built):
    with ThreadPoolExecutor(4) as pool:
        texts = {*pool.map(deidentify, [NOTE] * 8)}

    assert 1 == len(built) == len(texts)


def test_preset_policy_and_key_are_those_of_the_call(built):
    other = {"preset": "lexical", "policy": "surrogate"}
    first = deidentify(NOTE, **other, key=KEY)
    second = deidentify(NOTE, **other, key=bytes(32))

    assert len({NOTE, first, second}) == 3
    assert first == deidentify(NOTE, **other, key=KEY)
    assert len(built) == 2
    with pytest.raises(ConfigError, match="needs a key"):
        deidentify(NOTE, **other)
    with pytest.raises(ConfigError, match="known: "):
        deidentify(NOTE, policy="none such")


def test_dates_of_two_texts_move_by_different_numbers_of_days():
    options = {"preset": "lexical", "policy": "surrogate", "key": KEY}
    written = {
        deidentify(f"{word} was seen on 3/14/2024.", **options)[-12:]
        for word in ("She", "He", "It", "One")
    }

    assert len(written) > 1


def test_no_repr_of_the_cache_shows_a_key(built):
    deidentify(NOTE, preset="lexical", policy="surrogate", key=KEY)

    assert str(KEY)[2:-1] not in f"{text._system!r} {text._system.cache_info()}"


@pytest.mark.parametrize("value", [None, float("nan"), b"text", 17, ["text"]])
def test_what_is_no_text_is_rejected(value):
    with pytest.raises(TypeError, match="deidentify: text must be str, not "):
        deidentify(value)


def test_a_text_in_another_language_is_refused():
    with pytest.raises(OtherLanguage):
        deidentify("Der Patient klagt seit gestern über Schmerzen im linken Knie auch.")
