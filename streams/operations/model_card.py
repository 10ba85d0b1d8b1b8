"""The trained model of a preset, as installed here."""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata, resources
from typing import Any

import orjson

from deid_core import ConfigError
from deid_core.config import known_presets, load_preset
from deid_core.detectors.tagger import TaggerOptions

NONE: dict[str, Any] = {"model": None, "model_version": None, "sha256": None}


@lru_cache
def model_of(preset: str) -> dict[str, Any]:
    """Return name, version and short hash of a built-in preset's model, or `NONE`."""
    if preset not in known_presets():
        return NONE
    try:
        options = load_preset(preset).options.get("tagger")
    except ConfigError:
        return NONE
    return _card(options.model) if isinstance(options, TaggerOptions) else NONE


def model_in(version: str, preset: str) -> dict[str, Any]:
    """Return the same for another installation; `NONE` if its version differs."""
    return model_of(preset) if version == metadata.version("phistream") else NONE


def _card(name: str) -> dict[str, Any]:
    file = resources.files("deid_core.tagger") / "models" / name / "model.json"
    try:
        card = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return NONE
    return {
        "model": card["name"],
        "model_version": card["version"],
        "sha256": card["sha256"]["tables.npz"][:12],
    }
