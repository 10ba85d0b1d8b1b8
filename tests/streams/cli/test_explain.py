"""`phistream scrub --explain`, in the terminal and as a page."""

import json
import re
import stat
from html.parser import HTMLParser

import pytest
from rich.console import Console
from typer.testing import CliRunner

from deid_core import (
    Deidentifier,
    Document,
    KnownIdentifiers,
    PersonName,
    Span,
    load_policy,
)
from deid_core.detectors.rules.dates import numeric as dates
from deid_core.detectors.rules.engine import RuleDetector
from streams.cli.app import app
from streams.cli.explain import shown
from streams.cli.explain_page import page_of
from streams.cli.explain_text import pieces, visible

KNOWN = KnownIdentifiers(patient_names=(PersonName("Quellwright", "Mabelle"),))
DATES = RuleDetector(dates.RULES)
TEXT = (
    "Ms. Quelwright was seen 3/14/2024. Her kin, Ms. Quellwright Okonkwo,\n"
    "went to Mayo Clinic in Rochester, MN 55905.\n<b>&amp; 2/7"
)
NOTE = {
    "id": "n/1",
    "text": TEXT,
    "patient": {"names": [{"family": "Quellwright", "given": "Mabelle"}]},
}


@pytest.fixture(scope="module")
def system():
    return Deidentifier.from_names("lexical")


@pytest.fixture(scope="module")
def explanation(system):
    return system.explain([Document("n/1", TEXT, KNOWN)])[0]


@pytest.fixture(scope="module")
def outvoted(system):
    """Of its number two rules say different things."""
    return system.explain([Document("n/3", "MRN 312-555-0147.")])[0]


@pytest.fixture(scope="module")
def refused():
    """
    Only its date is found, so that the patient's name would be published.
    """
    dates = Deidentifier([DATES], load_policy("safe-harbor"))
    return dates.explain([Document("n/2", "Quellwright <3/14/2024>", KNOWN)])[0]


@pytest.fixture
def notes(tmp_path):
    file = tmp_path / "notes.jsonl"
    file.write_text(json.dumps(NOTE) + "\n", "utf-8")
    return file


def terminal(explanation, *, width=120, color=None):
    console = Console(width=width, color_system=color, force_terminal=bool(color))
    with console.capture() as capture:
        console.print(shown(explanation, wide=width >= 100))
    return capture.get()


def page(*explanations):
    return page_of(explanations, preset="hybrid", policy="safe-harbor")


class Read(HTMLParser):
    """What a page holds: tags with their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self._open = [], "", []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert tag == self._open.pop()

    def handle_data(self, data):
        if "style" not in self._open:
            self.text += data


def test_the_terminal_tells_labels_detectors_scores_and_what_is_written(explanation):
    """
    All in plain text: nothing is told by colour alone.
    """
    text = terminal(explanation)

    assert "[1 NAME:PATIENT| Quelwright]" in text
    assert '1 NAME:PATIENT 4\u201314 "Quelwright" -> "[NAME:PATIENT]"' in text
    assert re.search(r"> rules/name_after_title NAME:PATIENT 0\.\d\d .* trusted", text)
    assert re.search(r"= known/patient~ NAME:PATIENT 0\.\d\d .* agrees", text)


def test_the_terminal_tells_what_lost_and_what_was_joined(explanation, outvoted):
    lost = r"x rules/phone_us CONTACT:PHONE 0\.\d\d .* outvoted"
    assert re.search(lost, terminal(outvoted))
    assert "NAME:PATIENT 48\u201367, joined" in terminal(explanation)


@pytest.mark.parametrize("width", [60, 200])
def test_note_and_published_text_stand_side_by_side_where_there_is_room(
    explanation, width
):
    text = terminal(explanation, width=width)

    [line] = [each for each in text.splitlines() if "Quelwright]" in each]
    assert (width == 200) == ("[NAME:PATIENT]" in line)


def test_colours_are_added_where_the_terminal_has_them(explanation):
    assert "\x1b[30;43m" in terminal(explanation, color="standard")
    assert "\x1b" not in terminal(explanation)


@pytest.mark.parametrize("control", ["\x1b", "\x07", "\x9b", "\u202e", "\x00"])
def test_a_note_cannot_steer_the_terminal(system, control):
    document = Document(f"n{control}", f"a{control}[2J b\r\n\tc, 3/14/2024{control}")

    text = terminal(system.explain([document])[0])

    assert control not in text
    assert "a\ufffd[2J b" in text


def test_only_the_return_of_a_line_end_is_left_out():
    assert visible("a\r\n\tb") == "a\n\tb"


def test_a_refused_note_shows_what_was_found_but_nothing_published(refused):
    text, html = terminal(refused), page(refused)

    assert "[1 DATE| 3/14/2024]" in text
    assert "Refused: nothing.  ResidueFound: survived" in text
    assert "(refused)" in text
    assert "nothing is published. ResidueFound: survived" in html
    assert "[DATE]" not in text + html


def test_the_page_says_first_that_it_holds_phi(explanation):
    text = Read(page(explanation)).text

    assert text.index("PHI") < text.index("Quelwright")
    assert "identifiers (PHI)" in text


def test_the_page_loads_and_runs_nothing(explanation):
    html = page(explanation)
    read = Read(html)

    assert {"script", "link", "img", "iframe"}.isdisjoint(tag for tag, _ in read.tags)
    assert "url(" not in html
    assert "@import" not in html
    links = [each["href"] for tag, each in read.tags if "href" in each]
    assert all(link.startswith("#") for link in links)
    [policy] = [
        each["content"]
        for tag, each in read.tags
        if each.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_every_link_of_the_page_leads_somewhere(explanation, refused):
    read = Read(page(explanation, refused))
    ids = [each["id"] for _, each in read.tags if "id" in each]

    assert len(ids) == len(set(ids))
    links = {each["href"][1:] for _, each in read.tags if "href" in each}
    assert links
    assert links <= set(ids)


def test_markup_in_a_note_and_its_id_stays_text(system):
    text = '<script>alert("x")</script> &amp; $notes'
    html = page(*system.explain([Document("<i>$count</i>", text)]))

    assert {"script", "i"}.isdisjoint(tag for tag, _ in Read(html).tags)
    assert Read(html).text.count(text) == 2
    assert "<i>$count</i>" in Read(html).text


def test_the_page_tells_detectors_scores_and_verdicts(explanation, outvoted):
    text = Read(page(explanation)).text

    for said in ("trusted: rules/", "agrees: known/patient~"):
        assert said in text
    assert "outvoted: rules/phone_us" in Read(page(outvoted)).text
    assert "\u201cQuelwright\u201d" in text
    assert "\u201c[NAME:PATIENT]\u201d" in text
    assert "48\u201367, joined" in text


def test_marks_can_be_reached_by_keyboard_and_say_their_label(explanation):
    html = page(explanation)

    assert 'href="#n1r1">Quelwright<b>1 NAME:PATIENT</b>' in html
    assert ".mark:focus .detail" in html


def test_a_page_of_no_notes_is_a_page():
    assert "There are no notes." in Read(page()).text


def test_pieces_are_the_whole_text():
    spans = [Span(1, 3), Span(3, 4), Span(5, 7)]

    expected = [("a", None), ("bc", 0), ("d", 1), ("e", None), ("fg", 2)]
    assert expected == list(pieces("abcdefg", spans))
    assert list(pieces("abc", [])) == [("abc", None)]


def run(*arguments):
    return CliRunner().invoke(app, ["scrub", *map(str, arguments)])


def test_explain_shows_the_note_instead_of_the_scrubbed_lines(notes):
    done = run("--explain", notes)

    assert done.exit_code == 0
    assert done.stdout.startswith("PHI: this shows the notes' own text.")
    assert "Quelwright" in done.stdout
    assert '{"id"' not in done.stdout


def test_explain_html_writes_a_page_for_its_owner_alone(notes, tmp_path):
    file = tmp_path / "page.html"

    done = run("--explain-html", file, notes)

    assert (done.exit_code, done.stdout) == (0, "")
    assert "Quelwright" in Read(file.read_text("utf-8")).text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_line_that_is_no_note_is_refused_and_the_others_are_explained(notes):
    notes.write_text(notes.read_text("utf-8") + "ZZ\n", "utf-8")

    done = run("--explain", notes)

    assert done.exit_code == 1
    assert "not JSON" in done.stderr
    assert "Quelwright" in done.stdout


def test_a_page_that_cannot_be_written_is_an_error(notes, tmp_path):
    done = run("--explain-html", tmp_path / "none" / "page.html", notes)

    assert "choose another file" in str(done.exception)
