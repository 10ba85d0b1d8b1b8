"""Checks of preset, policy and model: they load, and scrub invented sentences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from deid_core import (
    ConfigError,
    DeidConfig,
    Deidentifier,
    DeidError,
    Document,
    KnownIdentifiers,
    PersonName,
    load_policy,
    load_preset,
)
from deid_core.detectors.tagger import TaggerOptions
from deid_core.tagger.model_files import load_tables
from deid_core.tagger.model_tables import ModelTables
from streams.engine.errors import ConfigError as SettingsError
from streams.operations.settings import Settings

from .context import CheckContext
from .finding import Finding, fail, ok

FIX = "name another preset, or install the model again"
SENTENCES = {
    "en": "Mr. Brackstone was born on 3/14/1952; call 312-555-0147.",
    "es": "Nombre: Quillon Brackstone. Fecha de nacimiento: 14/03/1952.",
}
INVENTED = ("Brackstone", "1952", "555-0147")
"""Invented values; none may be left in the output."""
MISSPELLED = "Brakstone came again."
RECORD = KnownIdentifiers(
    patient_names=(PersonName(family="Brackstone", given="Quillon"),),
    birth_dates=(date(1952, 3, 14),),
)


def models(context: CheckContext) -> Iterator[Finding]:
    """Load preset, policy and model; a model with another digest is rejected."""
    settings = context.settings
    try:
        config, model = loaded(settings.preset)
        policy = load_policy(settings.policy)
    except ConfigError as error:
        yield fail(str(error), FIX)
        return
    yield ok(f"preset {config.name} ({', '.join(config.detectors)}), policy "
             f"{policy.name}")  # fmt: skip
    if model is not None:
        yield ok(f"model {model.name} {model.version}, digest as locked")


def loaded(preset: str) -> tuple[DeidConfig, ModelTables | None]:
    """Return a preset, and the model of its tagger if it has one.

    Raises:
        ConfigError: One of them is unknown, invalid or damaged.
    """
    config = load_preset(preset)
    options = config.options.get("tagger")
    if not isinstance(options, TaggerOptions):
        return config, None
    digest = options.digests.get(options.model, "")
    return config, load_tables(options.model, digest)


def self_test(context: CheckContext) -> Iterator[Finding]:
    """Scrub sentences with an invented name, with and without a patient record."""
    try:
        deidentifier = _deidentifier(context.settings)
        config, model = loaded(context.settings.preset)
    except (ConfigError, SettingsError) as error:
        yield fail(str(error), "fix that first")
        return
    language = model.language if model is not None else "en"
    sentence = SENTENCES.get(language, SENTENCES["en"])
    yield judge_sentence(deidentifier, Document("doctor", sentence), INVENTED)
    if "known" in config.detectors:
        document = Document("doctor", MISSPELLED, RECORD)
        yield judge_sentence(deidentifier, document, ("Brakstone",))


def judge_sentence(
    deidentifier: Deidentifier, document: Document, invented: tuple[str, ...]
) -> Finding:
    """Check that no invented value is left."""
    try:
        text = deidentifier.deidentify(document).text
    except DeidError as error:
        return fail(f"refused: {error}", FIX)
    left = [value for value in invented if value in text]
    how = "with a patient record" if document.known else "without a patient record"
    if left:
        return fail(
            f"{how}: {len(left)} of {len(invented)} invented identifiers are left",
            "do not publish with this preset and policy",
        )
    return ok(f"{how}: an invented sentence is scrubbed")


def _deidentifier(settings: Settings) -> Deidentifier:
    key = settings.pseudonym_key() if settings.has_pseudonym_key else None
    return Deidentifier.from_names(
        settings.preset, settings.policy, key, terms=settings.terms
    )
