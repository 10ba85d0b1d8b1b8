"""The user's own lists of names and terms to remove and to keep."""

import re
import tomllib
import traceback
from datetime import date
from pathlib import Path
from time import process_time

import pytest

from deid_core import (
    ConfigError,
    Deidentifier,
    Document,
    KnownIdentifiers,
    Label,
    PersonName,
    TermFiles,
    load_policy,
    load_preset,
)
from deid_core.detectors.terms import KeptTerms, TermList, TermsDetector

MARKER = "Zyxwvut"
PATIENT = KnownIdentifiers(
    patient_names=(PersonName(family="Quellwright", given="Mabelle"),),
    birth_dates=(date(1952, 3, 14),),
)


@pytest.fixture
def listed(tmp_path):
    """Write a list of entries; return the file's name."""

    def write(*lines, name="own.txt"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return str(path)

    return write


@pytest.fixture
def removed(listed):
    """Return what a list of entries removes from a text."""

    def values(entries, text):
        detector = TermsDetector({Label.DOCTOR: (listed(*entries),)})
        [found] = detector([Document("n", text)])
        return [text[each.span.start : each.span.end] for each in found]

    return values


@pytest.fixture
def scrubbed(listed):
    """Return a text as rules and lexicons write it with lists of the user's own."""

    def text(text, *, keep=(), remove=(), label=Label.DOCTOR, known=PATIENT):
        files = TermFiles(
            keep=(listed(*keep, name="keep.txt"),) if keep else (),
            remove={label: (listed(*remove, name="remove.txt"),)} if remove else {},
        )
        system = Deidentifier.from_names("lexical", terms=files)
        return system.deidentify(Document("n", text, known)).text

    return text


@pytest.mark.parametrize(
    ("entry", "text", "found"),
    [
        (
            "Brin Tolle",
            "Brin Tolle, then BRIN\n  TOLLE's",
            ["Brin Tolle", "BRIN\n  TOLLE"],
        ),
        ("Brin Tolle", "Brin\n\nTolle; Brin Tollemache; LeBrin Tolle; Brin_Tolle", []),
        ("Young", "Young saw a young man with YOUNG.", ["Young", "YOUNG"]),
        ("young", "Young saw a young man.", ["Young", "young"]),
        ("SMYTHE", "Smythe, smythe", ["Smythe"]),
        (
            "de la Cruz",
            "De La Cruz and de la Cruz, de la cruz",
            ["De La Cruz", "de la Cruz"],
        ),
        ("Müller-Lüdenscheidt", "Muller - Ludenscheidt", ["Muller - Ludenscheidt"]),
        ("O'Brannoch", "O\u2019Brannoch", ["O\u2019Brannoch"]),
        ("Иванов", "Иванов, Петров", ["Иванов"]),
        ("St. Orm", "St. Orm; St Orm", ["St. Orm"]),
        ("Ward 7B", "ward 7b, Ward 7B", ["Ward 7B"]),
        ("7741-B", "case 7741-B.", ["7741-B"]),
    ],
)
def test_entries_are_found_as_whole_words(removed, entry, text, found):
    assert removed([entry], text) == found


def test_in_notes_of_one_letter_case_an_entry_is_found_in_any(removed):
    note = "seen by tolle on the ward, doing well and eating, will go home today."
    assert removed(["Tolle"], note) == ["tolle"]
    assert removed(["Tolle"], note.upper()) == ["TOLLE"]


def test_comments_blank_lines_and_a_byte_order_mark_are_no_entries(removed):
    assert removed(["\ufeff# staff", "", "  Tolle\t", "#Young"], "Tolle Young #") == [
        "Tolle"
    ]


def test_all_entries_that_overlap_are_proposed(removed):
    entries = ["Orm House", "Orm House Clinic", "House"]
    assert removed(entries, "Orm House Clinic") == [
        "Orm House",
        "Orm House Clinic",
        "House",
    ]


def test_a_listed_term_is_written_by_the_label_of_its_file(scrubbed):
    text = "Orm House called; bring the blue folder to Tolle."
    assert (
        scrubbed(text, remove=["Orm House"], label=Label.LOCATION_OTHER)
        == "[LOCATION:OTHER] called; bring the blue folder to Tolle."
    )


def test_a_listed_name_is_propagated_to_its_parts(scrubbed):
    text = "Brin Tollemach was in. Plan by Tollemach, as before."
    assert "Plan by Tollemach" in scrubbed(text)
    assert "Tollemach" not in scrubbed(text, remove=["Brin Tollemach"])


def test_a_policy_cannot_keep_a_listed_term(scrubbed):
    """`safe-harbor` keeps professions and states."""
    text = "He is a retired locksmith from Ohio."
    assert "a retired locksmith" in scrubbed(text)
    written = scrubbed(text, remove=["locksmith"], label=Label.LOCATION_OTHER)
    assert "locksmith" not in written


def test_a_label_that_policies_may_keep_is_refused_with_those_possible():
    with pytest.raises(ConfigError, match=r"name one of: NAME:PATIENT, .*ID:IDNUM"):
        TermFiles.read({"remove": {"LOCATION:CITY": ["a.txt"]}}, "terms")


def test_a_term_to_keep_is_not_taken_for_a_name(scrubbed):
    text = "Walks to Emily Sanders each day."
    assert "Emily" not in scrubbed(text)
    assert text == scrubbed(text, keep=["Emily Sanders"])


@pytest.mark.parametrize(
    "text", ["Dr. Foley came.", "Daughter of Mr. Foley.", "Patient: Foley, Jane"]
)
def test_what_a_title_or_label_makes_a_person_is_never_kept(scrubbed, text):
    assert "Foley" not in scrubbed(text, keep=["Foley"])
    assert "Foley catheter" in scrubbed("Foley catheter.", keep=["Foley"])


def test_keep_ignores_letter_case_and_ends_at_the_line(scrubbed):
    text = "The talk with Emily\nSanders was good."
    assert "Emily" not in scrubbed(text, keep=["emily sanders"])
    text = "The talk with Emily Sanders was good."
    assert text == scrubbed(text, keep=["emily sanders"])


def test_more_than_the_term_is_removed(scrubbed):
    text = "Walks to Emily Sanders each day."
    assert scrubbed(text, keep=["Emily"]) == "Walks to [NAME:PATIENT] each day."


def test_the_patients_record_wins_over_a_term_to_keep(scrubbed):
    text = "Walks to Mabelle Sanders each day."
    mabelle = KnownIdentifiers(patient_names=(PersonName("Sanders", "Mabelle"),))
    keep = ["Mabelle Sanders"]
    assert "Mabelle" not in scrubbed(text, keep=keep, known=mabelle)
    assert text == scrubbed(text, keep=keep, known=KnownIdentifiers())


def test_a_term_to_remove_wins_over_the_same_term_to_keep(scrubbed):
    text = "Call Tollemach."
    assert (
        scrubbed(text, keep=["Tollemach"], remove=["Tollemach"])
        == "Call [NAME:DOCTOR]."
    )


@pytest.mark.parametrize(
    "value", ["MRN 4471129", "3/14/2024", "312-555-0147", "May 13"]
)
def test_ids_dates_and_numbers_are_never_kept(scrubbed, value):
    text = f"On file: {value}."
    assert (
        scrubbed(text) == scrubbed(text, keep=[value, value.rpartition(" ")[2]]) != text
    )


def test_a_name_found_elsewhere_is_propagated_into_a_term_to_keep(scrubbed):
    text = "Ms. Brindlewick spoke. Referred to Brindlewick Lantern programme."
    assert "Brindlewick" not in scrubbed(text, keep=["Brindlewick Lantern"])


def test_every_occurrence_of_a_long_list_is_found_in_time_linear_in_the_note(tmp_path):
    file = tmp_path / "long.txt"
    file.write_text("\n".join(f"Nam{n} Fam{n % 313} Ward" for n in range(100_000)))
    terms = TermList.read([str(file)])
    short = "Nam7 Fam7 Ward was in. Nam7 Fam8 Ward, too, beside others. " * 500
    took = {}
    for times in (1, 8):
        begin = process_time()
        assert sum(1 for _ in terms.find(short * times)) == (500 * times)
        took[times] = process_time() - begin
    assert took[8] < 8 * 4 * took[1]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"ok entry\n\nX\n", r"own\.txt, line 3: an entry needs at least two letters"),
        (b"ok entry\n--\n", r"own\.txt, line 2: an entry needs at least two letters"),
        (b"ok\n" + b"Zyxwvut " * 26, r"own\.txt, line 2: .* at most 200 characters"),
        (b"ok\nZyxwvut\xff\n", r"own\.txt, line 2: not UTF-8"),
        (b"# nothing\n", r"own\.txt: has no entries"),
        (None, r"own\.txt: cannot be read: No such file"),
    ],
)
def test_a_wrong_list_is_refused_by_file_and_line_without_its_entries(
    tmp_path, content, says
):
    path = tmp_path / "own.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as caught:
        TermList.read([str(path)])
    shown = "".join(traceback.format_exception(caught.value))
    assert MARKER not in shown
    assert MARKER not in repr(caught.value.__context__)


def test_nothing_of_a_list_shows_in_a_repr(listed):
    file = listed(MARKER)
    things = [TermList.read([file]), KeptTerms([file])]
    things += [TermsDetector({Label.DOCTOR: [file]})]
    things += [TermFiles(keep=(file,))]
    assert not any(MARKER in repr(each) for each in things)


def test_a_preset_names_lists_beside_itself(tmp_path, listed):
    listed("Tollemach", name="staff.txt")
    listed("Emily Sanders", name="programmes.txt")
    preset = tmp_path / "own.toml"
    preset.write_text(
        'name = "own"\ndetectors = ["rules", "lexicon"]\n'
        '[terms]\nkeep = ["programmes.txt"]\n'
        '[terms.remove]\n"NAME:DOCTOR" = ["staff.txt"]\n'
    )
    config = load_preset(str(preset))
    system = Deidentifier.from_config(config, load_policy("safe-harbor"))

    text = "Walks to Emily Sanders; call Tollemach"
    scrubbed = system.deidentify(Document("n", text))
    assert scrubbed.text == "Walks to Emily Sanders; call [NAME:DOCTOR]"
    assert [each.source for each in scrubbed.annotations] == ["terms/remove"]


def test_lists_given_beside_a_preset_add_to_its_own(tmp_path, listed):
    preset = tmp_path / "own.toml"
    preset.write_text(
        'name = "own"\ndetectors = ["rules"]\n'
        f'[terms.remove]\n"NAME:DOCTOR" = ["{listed("Tollemach", name="a.txt")}"]\n'
    )
    more = TermFiles(remove={Label.DOCTOR: (listed("Orm", name="b.txt"),)})
    system = Deidentifier.from_names(str(preset), terms=more)
    scrubbed = system.deidentify(Document("n", "Tollemach told Orm"))
    assert scrubbed.text == "[NAME:DOCTOR] told [NAME:DOCTOR]"


def test_the_table_of_the_guide_loads():
    guide = Path(__file__).parents[3] / "deploy/docs/pages/how-to/lists.md"
    text = guide.read_text("utf-8")
    [table] = re.findall(r"```toml\n(\[terms\].*?)```", text, re.DOTALL)

    assert TermFiles.read(tomllib.loads(table)["terms"], "terms").keep


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('terms = "x"', "terms must be a table"),
        ('[terms]\nremoved = ["x"]', "'removed' is unknown; known: remove, keep"),
        (
            '[terms.remove]\n"NAME:NURSE" = ["x"]',
            "terms.remove.NAME:NURSE: label NAME:NURSE is unknown",
        ),
        ('[terms]\nkeep = "x"', "terms.keep: .*valid tuple"),
    ],
)
def test_a_wrong_table_is_refused_by_key(tmp_path, table, says):
    preset = tmp_path / "own.toml"
    preset.write_text(f'name = "own"\ndetectors = ["rules"]\n{table}\n')
    with pytest.raises(ConfigError, match=says):
        load_preset(str(preset))


def test_a_failure_while_keeping_terms_refuses_the_note(listed, monkeypatch):
    system = Deidentifier.from_names("lexical", terms=TermFiles(keep=(listed("Orm"),)))

    def fail(*_):
        raise KeyError(MARKER)

    monkeypatch.setattr(KeptTerms, "without_kept", fail)
    [result] = system.deidentify_batch([Document("n", "Dr. Tolle")])
    assert repr(result) == "DetectorFailed('terms: KeyError')"
