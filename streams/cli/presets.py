"""`phistream presets`: the presets, and how to train those without a model."""

from __future__ import annotations

from deid_core import known_presets, load_preset

from .terminal import say, show_table


def presets() -> None:
    """List the presets, and which of them need training first."""
    loaded = [load_preset(name) for name in known_presets()]
    loaded.sort(key=lambda each: bool(each.untrained))
    show_table(
        ("preset", "usable", "what it is"),
        [
            (each.name, "train first" if each.untrained else "yes", each.summary)
            for each in loaded
        ],
    )
    say(
        "to train a published system on annotated notes of your own: phistream train "
        "--recipe PRESET --corpus PATH --out FOLDER; then --preset FOLDER/preset.toml"
    )
