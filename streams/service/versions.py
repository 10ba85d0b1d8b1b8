"""The versions of phistream, Python, the Kafka client and the models."""

from __future__ import annotations

import platform
from importlib import metadata

import confluent_kafka

from deid_core import load_preset
from deid_core.tagger.model_files import known_models, model_version


def runtime() -> str:
    """Return the versions of phistream, Python and the Kafka client, in one line."""
    return (
        f"phistream {metadata.version('phistream')}, "
        f"Python {platform.python_version()}, "
        f"confluent-kafka {metadata.version('confluent-kafka')}, "
        f"librdkafka {confluent_kafka.libversion()[0]}"
    )


def models(preset: str | None = None) -> str:
    """Return name and version of a preset's model, or of all installed models.

    Raises:
        deid_core.ConfigError: The preset or its model is unknown or unreadable.
    """
    if preset is None:
        return ", ".join(map(model_version, known_models()))
    name = getattr(load_preset(preset).options.get("tagger"), "model", None)
    return model_version(name) if name else "none"
