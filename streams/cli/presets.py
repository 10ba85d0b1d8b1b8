"""`phistream presets`: the presets, and which train a model at their first use."""

from __future__ import annotations

from deid_core import DeidConfig, known_presets, load_preset

from .terminal import say, show_table


def presets() -> None:
    """List the presets, and which of them train a model at their first use."""
    loaded = [load_preset(name) for name in known_presets()]
    loaded.sort(key=lambda preset: bool(preset.first_use_seconds))
    show_table(
        ("preset", "usable", "what it is"),
        [(preset.name, _usable(preset), preset.summary) for preset in loaded],
    )
    say(
        "what is trained at its first use learns some of the invented notes that come "
        "with phistream, and needs: pip install 'phistream[train]'"
    )
    say(
        "to train a published system on annotated notes of your own: phistream train "
        "--recipe PRESET --corpus PATH --out FOLDER; then --preset FOLDER/preset.toml"
    )


def _usable(preset: DeidConfig) -> str:
    seconds = preset.first_use_seconds
    return f"trains at first use, about {seconds} s" if seconds else "yes"
