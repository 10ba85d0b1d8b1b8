"""What is invisible, or written in a compatibility form, hides no identifier."""

import unicodedata
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import (
    NOTHING_KNOWN,
    Address,
    Annotation,
    Deidentifier,
    DetectorFailed,
    Document,
    KnownId,
    KnownIdentifiers,
    Label,
    OffsetMap,
    PersonName,
    ResidueFound,
    ScrubbedDocument,
    Span,
    Verifier,
    load_policy,
)
from deid_core.document import with_changed_parts
from deid_core.replace import Replacement, apply_replacements
from tests.deid_core.marked import unmark
from tests.deid_core.rules.label_examples import EXAMPLES
from tests.deid_core.surrogates.surrogate_cases import KEY

KNOWN = KnownIdentifiers(
    patient_names=(PersonName("Kowalczykova", "Ewelina"),),
    kin_names=(PersonName("Griffin", "Tobias"),),
    provider_names=(PersonName("Okonkwo", "Bartholomew"),),
    birth_dates=(date(1957, 3, 4),),
    addresses=(Address("12 Larkspur Lane", "", "Springfield", "IL", "62704", "US"),),
    phones=("617-555-0123",),
    emails=("ewelina.k@example.com",),
    ids=(KnownId("77881234", Label.MEDICALRECORD),),
    facilities=("Wexbrook Hospital",),
    employers=("Acme Widgets",),
)
OF_RECORD = [
    "Seen: «Ewelina Kowalczykova» with her son «Tobias Griffin».",
    "told by «Bartholomew» today.",
    "born «4 March 1957» in «Springfield».",
    "file «77881234» was sent.",
    "reached at «617-555-0123» now.",
    "wrote from «ewelina.k@example.com» again.",
    "lives at «12 Larkspur Lane», again.",
    "brought to «Wexbrook Hospital» at night.",
    "works at «Acme Widgets» by day.",
]
WITHOUT_RECORD = [marked for marked, _ in EXAMPLES.values()]
NEVER_SEPARATE = "\u200c\u200d\u2060\u034f\ufe0f\u180e\u3164\U000e0100"
MAY_SEPARATE = "\u00ad\u200b\ufeff\u200e\u202a\u2066\x00\x1b\x1f\x92\ud800\U000e0041"
KINDS = pytest.mark.parametrize(
    ("known", "examples"), [(NOTHING_KNOWN, WITHOUT_RECORD), (KNOWN, OF_RECORD)]
)


@pytest.fixture(scope="module")
def system():
    return Deidentifier.from_names()


def scrub(system, texts, known=NOTHING_KNOWN):
    documents = [Document(str(at), text, known) for at, text in enumerate(texts)]
    return system.deidentify_batch(documents)


def covered(result):
    return {at for each in result.annotations for at in span_of(each)}


def span_of(annotation):
    return range(annotation.span.start, annotation.span.end)


def everywhere(marked, character):
    """Yield an example's text with a character before, in and behind its values."""
    text, spans = unmark(marked)
    for at in sorted({at for start, end in spans for at in range(start, end + 1)}):
        yield at, text[:at] + character + text[at:]


def with_character(span, at):
    """Return a span once a character stands at a place; it takes along what touches."""
    start, end = span
    if at < start:
        return start + 1, end + 1
    return (start, end + 1) if at <= end else span


def cases_of(system, known, examples, character):
    """Return each example's result without, and with the character at each place."""
    plain = scrub(system, [unmark(each)[0] for each in examples], known)
    cases = [
        (before, at, text)
        for marked, before in zip(examples, plain, strict=True)
        for at, text in everywhere(marked, character)
    ]
    results = scrub(system, [text for _, _, text in cases], known)
    return [(*case, result) for case, result in zip(cases, results, strict=True)]


@KINDS
@pytest.mark.parametrize("character", NEVER_SEPARATE, ids=ascii)
def test_detection_is_as_without_what_never_separates(
    system, known, examples, character
):
    for before, at, text, result in cases_of(system, known, examples, character):
        told = [
            (with_character((a.span.start, a.span.end), at), a.label, a.source)
            for a in before.annotations
        ]
        assert told == [
            ((a.span.start, a.span.end), a.label, a.source) for a in result.annotations
        ], ascii(text)
        assert before.text == result.text.replace(character, ""), ascii(text)


@KINDS
@pytest.mark.parametrize("character", MAY_SEPARATE, ids=ascii)
def test_what_may_separate_takes_nothing_away_from_detection(
    system, known, examples, character
):
    for before, at, text, result in cases_of(system, known, examples, character):
        wanted = {place + (place >= at) for place in covered(before)}
        assert wanted <= covered(result), ascii(text)


@pytest.mark.parametrize("character", "\u00ad\u200b\x00\u2060", ids=ascii)
def test_a_character_between_all_letters_hides_nothing(system, character):
    def spread(text):
        return character.join(text)

    texts = [spread(unmark(each)[0]) for each in OF_RECORD]
    results = scrub(system, texts, KNOWN)

    for marked, result in zip(OF_RECORD, results, strict=True):
        text, spans = unmark(marked)
        left = result.text.replace(character, "")
        assert not any(text[start:end] in left for start, end in spans), ascii(left)


def fullwidth(text):
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def mathematical(text):
    """Return the text in bold letters and digits."""
    bold = {
        **{ord("A") + n: 0x1D400 + n for n in range(26)},
        **{ord("a") + n: 0x1D41A + n for n in range(26)},
        **{ord("0") + n: 0x1D7CE + n for n in range(10)},
    }
    return text.translate(bold)


def with_wide_blanks(text):
    return text.replace(" ", "\u00a0")


def with_no_break_hyphens(text):
    return text.replace("-", "\u2011")


@KINDS
@pytest.mark.parametrize(
    "change", [fullwidth, mathematical, with_wide_blanks, with_no_break_hyphens]
)
def test_detection_is_the_same_in_every_compatibility_form(
    system, known, examples, change
):
    texts = [unmark(each)[0] for each in examples]

    plain = scrub(system, texts, known)
    changed = scrub(system, list(map(change, texts)), known)

    assert [each.annotations for each in plain] == [
        each.annotations for each in changed
    ]


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("her son Tobias Gri\ufb03n came", "her son [NAME:PATIENT] came"),
        ("Mr. Jose\u0301 Nu\u0301n\u0303ez came", "Mr. [NAME:PATIENT] came"),
        ("Mr. S\u0336m\u0336i\u0336t\u0336h\u0336 came", "Mr. [NAME:PATIENT] came"),
        ("file\u200b77881234\u200bwas sent", "file[ID:MEDICALRECORD]was sent"),
        ("Mr. Kowal\u00ad\n  czykova came", "Mr. [NAME:PATIENT] came"),
        ("saw Dr. Okonkwo\x0bnow", "saw Dr. [NAME:DOCTOR]\x0bnow"),
        ("\ufeffKowalczykova came", "[NAME:PATIENT] came"),
        ("by \u202aDr. Okonkwo\u202c today", "by \u202aDr. [NAME:DOCTOR] today"),
        ("reached at 617\u00ad555\u00ad0123 on", "reached at [CONTACT:PHONE] on"),
        (
            "seen by \U000e0044\U000e0072\U000e002e\U000e0020"
            "\U000e0053\U000e006d\U000e0069\U000e0074\U000e0068 now",
            "seen by [NAME:DOCTOR] now",
        ),
    ],
)
def test_what_a_reader_would_see_is_replaced(system, text, scrubbed):
    [result] = scrub(system, [text], KNOWN)

    assert scrubbed == result.text


ORDINARY = (
    "Mild cough, no fever.  Rated 3/10, caf\u00e9 au lait spots, 5\u00bd cm\u00b2."
)


@pytest.mark.parametrize(
    "character", f"{NEVER_SEPARATE}{MAY_SEPARATE}\u00a0", ids=ascii
)
def test_a_text_without_identifiers_comes_out_as_it_is(system, character):
    texts = [
        ORDINARY[:at] + character + ORDINARY[at:] for at in range(len(ORDINARY) + 1)
    ]

    assert texts == [each.text for each in scrub(system, texts, KNOWN)]


PIECES = [
    *(
        "pain",
        "no",
        "cough",
        "\ufb01rm",
        "caf\u00e9",
        "na\u0308ive",
        "m\u00b2",
        "\uff41\uff42",
    ),
    *"\u00ad\u200b\u200d\x00\x85\u00a0\u2028\ufe0f\U0001f642\U000e0020 \n,.",
]
VALUES = [
    "Kowalczykova",
    "Ko\u00adwalczy\u200bkova",
    "\uff14 March 1957",
    "77\u206088 1234",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from([*PIECES, *VALUES]), max_size=20))
def test_what_is_kept_of_a_note_stays_byte_for_byte(system, pieces):
    text = " ".join(pieces)
    [result] = scrub(system, [text], KNOWN)

    assert isinstance(result, ScrubbedDocument)
    ends = [0, *(row.end for row in result.offset_map.rows)]
    starts = [*(row.start for row in result.offset_map.rows), len(text)]
    kept = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    assert kept == result.offset_map.kept(result.text)


def test_a_value_gets_one_surrogate_however_it_is_written():
    system = Deidentifier.from_names(policy="internal-qa", key=KEY)
    texts = ["Mr. Smith", "Mr. Sm\u00adith", "Mr. \uff33mith", "Mr. Smi\u200bth"]
    documents = [Document(text, text, patient="p") for text in texts]

    assert len({each.text for each in system.deidentify_batch(documents)}) == 1
    assert (
        len(
            {
                system.replaced_value(documents[0], Label.PATIENT, value)
                for value in ("Smith", "Sm\u00adith", "\uff33mith")
            }
        )
        == 1
    )


def test_what_the_policy_keeps_is_kept_as_it_is_written():
    """
    But for what is invisible in it: nobody could check that.
    """
    system = Deidentifier.from_names(policy="limited-data-set")
    text = "Seen on 3\u00a0March\u00a02020, not on 4\u200b/5/2020."

    [result] = scrub(system, [text])

    assert result.text == "Seen on 3\u00a0March\u00a02020, not on 4/5/2020."


def test_an_explanation_shows_the_note_as_it_is_written(system):
    text = "Mr. Sm\u00adith came.  Then Mr.\u00a0Smith left."

    [explained] = system.explain([Document("n", text)])

    assert [each.original for each in explained.decisions] == ["Sm\u00adith", "Smith"]
    assert text == explained.document.text
    assert system.deidentify_batch([Document("n", text)]) == [explained.scrubbed]


class Beyond:
    """Proposes a span that no text has."""

    name = "beyond"
    reads_as_written = False

    def __call__(self, documents):
        span = Span(2, 99)
        return [[Annotation(span, Label.DATE, 0.5, "b", "x")] for _ in documents]


def test_a_proposal_beyond_what_was_read_refuses_the_document():
    system = Deidentifier([Beyond()], load_policy("safe-harbor"))

    [result] = scrub(system, ["te\u00adxt"])

    assert isinstance(result, DetectorFailed)


@pytest.mark.parametrize("character", "\u00ad\u200b\u2060\ufe0f\x00\u115f", ids=ascii)
@pytest.mark.parametrize("marked", OF_RECORD)
def test_verify_refuses_a_value_with_an_invisible_character(marked, character):
    for _, text in everywhere(marked, character):
        assert Verifier().leaked_in(KNOWN, [text]), ascii(text)
        with pytest.raises(ResidueFound) as caught:
            Verifier().verify(text, KNOWN, text, OffsetMap())
        assert "owal" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        fullwidth("Kowalczykova"),
        mathematical("Kowalczykova"),
        unicodedata.normalize("NFD", "Kow\u00e1lczykova"),
        "Gri\ufb03n",
        "Kowal\u00ad\r\n czykova",
        "Kowalczykova\u200bseen",
        "\u200bBartholomew\x00seen",
        "reached at 617\u2011555\u20110123",
        "file \u0667\u0667\u0668\u0668\u0661\u0662\u0663\u0664",
        "3\u00ad/\u00ad4\u00ad/1957",
        "12\u00a0Larkspur\u2003Lane",
        "\U000e0047\U000e0072\U000e0069\U000e0066\U000e0066\U000e0069\U000e006e",
        "saw Kowalczykov\u00ada, Kowalczy\u200bkovo",
    ],
    ids=ascii,
)
def test_verify_refuses_a_value_in_another_form(text):
    with pytest.raises(ResidueFound):
        Verifier().verify(text, KNOWN, text, OffsetMap())


def test_verify_finds_what_was_replaced_elsewhere_in_another_form():
    text = "Mr. Rei\u00adtman came.\ntold by Reit\u200bman today"
    annotation = Annotation(Span(4, 12), Label.PATIENT, 1.0, "rules", "x")
    scrubbed, offset_map = apply_replacements(text, [Replacement(annotation, "[X]")])

    with pytest.raises(ResidueFound, match=r"replaced name \(1\)"):
        Verifier().verify(
            text, NOTHING_KNOWN, scrubbed, offset_map, [annotation], [annotation]
        )


@pytest.mark.parametrize(
    "text", ["Ann\u00aduity", "Kim\u200dber", "\u00e9 \u2026 5\u00bd"]
)
def test_a_name_that_only_begins_a_hyphenated_word_is_no_residue(text):
    known = KnownIdentifiers(patient_names=(PersonName("Ann", "Kim"),))

    assert Verifier().leaked_in(known, [text]) == {}


def hidden(value):
    return f"{value[:1]}\u2060{value[1:]}"


WITH_INVISIBLE = KnownIdentifiers(
    patient_names=tuple(with_changed_parts(n, hidden) for n in KNOWN.patient_names),
    kin_names=tuple(with_changed_parts(n, hidden) for n in KNOWN.kin_names),
    provider_names=tuple(with_changed_parts(n, hidden) for n in KNOWN.provider_names),
    birth_dates=KNOWN.birth_dates,
    addresses=tuple(with_changed_parts(a, hidden) for a in KNOWN.addresses),
    phones=tuple(map(hidden, KNOWN.phones)),
    emails=tuple(map(hidden, KNOWN.emails)),
    ids=tuple(KnownId(hidden(each.value), each.label) for each in KNOWN.ids),
    facilities=tuple(map(hidden, KNOWN.facilities)),
    employers=tuple(map(hidden, KNOWN.employers)),
)


@pytest.mark.parametrize("marked", OF_RECORD)
def test_every_value_of_a_record_is_read_as_a_note_is(system, marked):
    text, _ = unmark(marked)

    assert scrub(system, [text], KNOWN) == scrub(system, [text], WITH_INVISIBLE)
    assert Verifier().leaked_in(WITH_INVISIBLE, [text])


@pytest.mark.parametrize(
    "known",
    [
        KnownIdentifiers(
            patient_names=(PersonName("Kowal\u00adczykova", "\uff21\uff44a"),)
        ),
        KnownIdentifiers(emails=("kowalczykova\u200b@example.com",)),
        KnownIdentifiers(ids=(KnownId("\u2060kowalczykova7\ufe0f7", Label.IDNUM),)),
    ],
)
def test_a_record_is_read_as_a_note_is(system, known):
    text = "about kowalczykova@example.com, kowalczykova77, Kowalczykova on"
    [result] = scrub(system, [text], known)

    assert Verifier().leaked_in(known, [text])
    assert isinstance(result, ScrubbedDocument)
