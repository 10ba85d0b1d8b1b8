"""Invented corpora for experiments, and the output of systems on them."""

from pathlib import Path

from deid_core import Annotation, KnownIdentifiers, Label, PersonName, Span
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan, Prediction
from deid_core.research.experiments.harness.figures import Scored
from deid_core.research.experiments.harness.runner import Runner
from deid_core.research.experiments.harness.splits import Split
from deid_core.research.experiments.harness.systems import SystemOutput
from tests.deid_core.marked import unmark

GIVEN = ("Ana", "Bruno", "Carla", "Diego", "Elena")
FAMILY = ("Quintanar", "Robledales", "Sotomayorga", "Tordesillan", "Urbaneja")
FORM = (
    "Nombre: «{name}». Fecha: «{day}/05/2011.\n»"
    "Antecedentes:\nRefiere dolor desde el «{day}/04/2011». Dr. «{doctor}» la ve en el "
    "«Hospital {place}» de «{town}», historia «NH{number}». Sin fiebre ni tos."
)
LABELS = (
    *(Label.PATIENT, Label.DATE, Label.DATE, Label.DOCTOR),
    *(Label.HOSPITAL, Label.CITY, Label.IDNUM),
)


def marked(form, labels, id="n", kinds=()):
    """Return a document with its marks in guillemets."""
    text, places = unmark(form)
    spans = tuple(
        GoldSpan(Span(*place), label.value, label, at, kinds)
        for at, (place, label) in enumerate(zip(places, labels, strict=True))
    )
    return GoldDocument(id, text, spans)


def note(number):
    """Return one of a hundred letters about nobody."""
    name = f"{GIVEN[number % 5]} {FAMILY[number * 3 % 5]}"
    form = FORM.replace(".\n»", "».\n").format(
        name=name,
        day=10 + number % 18,
        doctor=FAMILY[number % 5],
        place=("Norte", "Sur", "Este")[number % 3],
        town=("Toledo", "Burgos", "Lugo")[number % 3],
        number=10_000 + 137 * number,
    )
    return marked(form, LABELS, f"n{number}")


def corpus(documents):
    conventions = conventions_for(Path("invented"), PLAIN)
    return Corpus("invented", "all", False, conventions, tuple(documents))


def quick_runner(folder, **changes):
    """Return a quick runner whose Spanish and English notes are these letters."""
    made = Runner(folder, folder, quick=True, **changes)
    notes = tuple(map(note, range(60)))
    made.meddocan = Split("invented", "es", notes[:40], corpus(notes[40:52]))
    made.english_notes = notes
    return made


def scored(documents, *annotations):
    """Return documents with what a system detects: spans and labels of each."""
    predictions = (
        Prediction(
            tuple(
                Annotation(Span(*place), label, 1.0, "test", "x")
                for place, label in each
            )
        )
        for each in annotations
    )
    return Scored(corpus(documents), SystemOutput(tuple(predictions), 1.0))


def known(given, family):
    return KnownIdentifiers(patient_names=(PersonName(family, given),))
