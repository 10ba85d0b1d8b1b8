import gc
import traceback

import pytest

from deid_core import (
    Annotation,
    ConfigError,
    DeidConfig,
    Deidentifier,
    DetectorFailed,
    Document,
    KnownIdentifiers,
    Label,
    OtherLanguage,
    PersonName,
    Policy,
    ResidueFound,
    ScrubbedDocument,
    Span,
    load_policy,
)
from deid_core.config import OtherLanguages

MARKER = "Zyxwvut"


class Words:
    """Proposes every occurrence of a word, and breaks on texts that say so."""

    reads_as_written = False

    def __init__(self, name, word, *, breaks=()):
        self.name = name
        self._word = word
        self._breaks = breaks
        self.calls = []

    def __call__(self, documents):
        self.calls.append(len(documents))
        return [self._propose(document.text) for document in documents]

    def _propose(self, text):
        if text in self._breaks:
            raise KeyError(text)
        start = text.find(self._word)
        if start < 0:
            return []
        span = Span(start, start + len(self._word))
        return [Annotation(span, Label.PATIENT, 0.9, self.name, "word")]


def system(*detectors):
    return Deidentifier(detectors, load_policy("safe-harbor"))


def test_writes_the_tag_and_says_where():
    result = system(Words("a", "Ada")).deidentify(Document("n1", "Saw Ada."))

    assert result.text == "Saw [NAME:PATIENT]."
    assert result.id == "n1"
    assert [each.span for each in result.annotations] == [Span(4, 7)]
    assert result.offset_map.to_original(4) == 4


def test_no_detector_is_left_out():
    result = system(Words("a", "Ada"), Words("b", "Bob")).deidentify(
        Document("n1", "Ada met Bob")
    )

    assert result.text == "[NAME:PATIENT] met [NAME:PATIENT]"


def test_a_batch_is_detected_in_one_call():
    detector = Words("a", "Ada")

    system(detector).deidentify_batch([Document(str(i), "Ada") for i in range(5)])

    assert detector.calls == [5]


def test_one_broken_document_does_not_harm_the_others():
    detectors = Words("a", "Ada"), Words("b", "Bob", breaks={"bad"})
    texts = ["Ada", "bad", "Bob"]

    results = system(*detectors).deidentify_batch(
        [Document(str(i), text) for i, text in enumerate(texts)]
    )

    assert list(map(type, results)) == [
        ScrubbedDocument,
        DetectorFailed,
        ScrubbedDocument,
    ]
    assert [results[0].text, results[2].text] == ["[NAME:PATIENT]"] * 2


def test_a_broken_detector_refuses_the_document_and_shows_nothing_of_it():
    """
    A foreign exception's message can hold the note: neither it nor its chain is kept.
    """
    broken = system(Words("b", "Bob", breaks={MARKER}))

    with pytest.raises(DetectorFailed) as caught:
        broken.deidentify(Document("n1", MARKER))

    shown = "".join(traceback.format_exception(caught.value))
    assert "detector 'b': KeyError" in shown
    assert MARKER not in shown


@pytest.mark.parametrize(
    "proposals",
    [
        [],
        [[], []],
        [None],
        [[Annotation(Span(2, 99), Label.DATE, 0.5, "c")]],
    ],
)
def test_proposals_that_do_not_fit_refuse_the_document(proposals):
    class Confused:
        name = "c"
        reads_as_written = False

        def __call__(self, documents):
            return proposals

    with pytest.raises(DetectorFailed):
        system(Confused()).deidentify(Document("n1", "text"))


def test_a_surviving_value_of_the_record_refuses_the_document():
    known = KnownIdentifiers(patient_names=(PersonName(MARKER, "Bob"),))

    with pytest.raises(ResidueFound, match=r"patient name \(1\)") as caught:
        system(Words("b", "Bob")).deidentify(
            Document("n1", f"Bob {MARKER} came", known)
        )

    assert MARKER not in str(caught.value)


GERMAN = f"Der Patient klagt seit gestern über Schmerzen im linken Knie, {MARKER} auch."


def test_a_note_of_a_language_that_is_not_read_reaches_no_detector():
    detector = Words("a", "Ada")
    own = Deidentifier([detector], load_policy("safe-harbor"), languages=["en"])
    notes = [
        Document(str(n), each) for n, each in enumerate(["Saw Ada.", GERMAN, "Ada"])
    ]

    first, refused, last = own.deidentify_batch(notes)

    assert detector.calls == [2]
    assert [last.text, first.text] == ["[NAME:PATIENT]", "Saw [NAME:PATIENT]."]
    assert isinstance(refused, OtherLanguage)
    assert "in German, the preset reads English" in str(refused)
    assert MARKER not in str(refused)
    with pytest.raises(OtherLanguage):
        own.deidentify(notes[1])
    [explained] = own.explain(notes[1:2])
    assert (explained.scrubbed, explained.decisions) == (None, ())
    assert explained.refused.startswith("OtherLanguage: ")


def test_a_batch_of_such_notes_alone_is_refused():
    own = Deidentifier(
        [Words("a", "Ada")], load_policy("safe-harbor"), languages=["en"]
    )

    results = own.deidentify_batch([Document("1", GERMAN), Document("2", GERMAN)])

    assert [type(each) for each in results] == ([OtherLanguage] * 2)


def test_a_note_of_another_language_is_scrubbed_and_marked_where_that_is_chosen():
    own = Deidentifier(
        [Words("a", MARKER)],
        load_policy("safe-harbor"),
        languages=["en"],
        other_languages=OtherLanguages.MARK,
    )

    marked, plain = own.deidentify_batch([Document("1", GERMAN), Document("2", "Ada")])

    assert (marked.other_language, plain.other_language) == ("de", "")
    assert MARKER not in marked.text


def test_without_languages_any_note_is_read():
    own = Deidentifier([Words("a", "Ada")], load_policy("safe-harbor"), languages=())

    assert own.deidentify(Document("1", GERMAN)).text == GERMAN


def test_a_system_reads_english_alone_unless_it_says_so_as_a_preset_does():
    with pytest.raises(OtherLanguage):
        system(Words("a", "Ada")).deidentify(Document("1", GERMAN))

    assert DeidConfig("own", ()).languages == ("en",)


@pytest.mark.parametrize(
    ("preset", "read", "other"),
    [
        ("lexical", "en", "es"),
        ("nus", "en", "es"),
        ("hybrid", "en", "es"),
        ("meddocan", "es", "en"),
    ],
)
def test_presets_refuse_what_they_do_not_read(preset, read, other):
    notes = {
        "en": "The patient was seen today and has no pain in the left knee any more.",
        "es": "La paciente acude hoy a la consulta, sin dolor en la rodilla izquierda.",
    }
    own = Deidentifier.from_names(preset)

    assert isinstance(own.deidentify(Document("1", notes[read])), ScrubbedDocument)
    with pytest.raises(OtherLanguage):
        own.deidentify(Document("2", notes[other]))


@pytest.mark.parametrize("note", [MARKER, None, float("nan"), b"", [MARKER]])
def test_what_is_no_document_is_rejected_with_the_next_step(note):
    own = system(Words("a", "Ada"))

    for call in (own.deidentify, lambda x: own.deidentify_batch([x])):
        with pytest.raises(TypeError, match="document must be Document, not ") as e:
            call(note)
        assert "deid_core.deidentify(text)" in str(e.value)
        assert MARKER not in str(e.value)
    with pytest.raises(TypeError, match="document must be Document, not "):
        own.explain([note])


def test_a_batch_may_be_any_iterable():
    own, notes = system(Words("a", "Ada")), [Document("1", "Ada"), Document("2", "Bo")]

    assert own.deidentify_batch(notes) == own.deidentify_batch(iter(notes))
    assert own.explain(notes) == own.explain(iter(notes))


def test_an_empty_batch_and_an_empty_text_pass():
    assert system(Words("a", "Ada")).deidentify_batch([]) == []
    assert system(Words("a", "Ada")).deidentify(Document("n1", "")).text == ""


def test_the_result_does_not_show_the_note():
    result = system(Words("a", "Ada")).deidentify(Document("n1", f"Ada {MARKER}"))

    assert MARKER not in repr(result)
    assert "n1" not in repr(result)


def test_without_consistency_only_what_a_detector_proposed_is_replaced():
    policy, once = load_policy("safe-harbor"), Words("a", "Zyxwvut")
    note = Document("n1", "Saw Mr. Zyxwvut. Then Zyxwvut left.")

    everywhere = Deidentifier([once], policy).deidentify(note)
    there = Deidentifier([once], policy, consistency=False).deidentify(note)

    assert MARKER not in everywhere.text
    assert there.text.count(MARKER) == 1


def test_without_recasing_detectors_read_capitals_as_they_are():
    policy, reads = load_policy("safe-harbor"), Words("a", "ADA")
    note = Document("n1", "THE PATIENT ADA WAS SEEN IN THE CLINIC BY THE NURSE TODAY.")

    kept = Deidentifier([reads], policy).deidentify(note)
    found = Deidentifier([reads], policy, recasing=False).deidentify(note)

    assert (len(kept.annotations), len(found.annotations)) == (0, 1)


def test_a_date_that_holds_another_value_of_the_record_is_not_kept():
    record = KnownIdentifiers(patient_names=(PersonName("Quellwright", "Mabel"),))
    keeping = Policy("t", "tag", {Label.DATE: "keep"})
    scrubber = Deidentifier([AllIsDate()], keeping)

    kept = scrubber.deidentify(Document("n1", "seen 3/14", record))
    hidden = scrubber.deidentify(Document("n1", "Mabel Quellwright 3/14", record))

    assert kept.text == "seen 3/14"
    assert hidden.text == "[DATE]"
    value = scrubber.replaced_value(
        Document("n1", "", record), Label.DATE, "Mabel Quellwright 3/14"
    )
    assert value == "[DATE]"


class AllIsDate:
    """Proposes every note as one date."""

    name = "dates"
    reads_as_written = False

    def __call__(self, documents):
        return [
            [Annotation(Span(0, len(each.text)), Label.DATE, 0.9, "dates", "all")]
            for each in documents
        ]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_building_a_system_leaves_the_garbage_collector_as_it_was(is_enabled):
    was_enabled = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        Deidentifier.from_names("lexical")
        assert is_enabled == gc.isenabled()
        with pytest.raises(ConfigError):
            Deidentifier.from_names("hybrid", policy="surrogate", key=b"short")
        assert is_enabled == gc.isenabled()
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_a_system_that_refuses_every_note_is_not_built(monkeypatch):
    class Broken:
        name = "broken"
        reads_as_written = False

        def __call__(self, documents):
            raise KeyError(documents[0].text)

    monkeypatch.setattr(DeidConfig, "build", lambda _config: [Broken()])

    with pytest.raises(ConfigError, match=r"invented note is refused: .*KeyError"):
        Deidentifier.from_names("lexical")
