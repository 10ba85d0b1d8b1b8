"""The preset of a trained system: the library's own, with the model's folder in it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

FILE = "preset.toml"


def write_preset(recipe: str, folder: Path) -> Path | None:
    """Write a recipe's preset into its model's folder; return where.

    Returns:
        None where the library has no preset of the recipe's name.
    """
    preset = files(__package__) / "presets" / f"{recipe}.toml"
    if not preset.is_file():
        return None
    text = preset.read_text("utf-8")
    # A TOML text in double quotes is written as JSON's.
    path = str(folder.resolve()).replace("\\", "\\\\").replace('"', '\\"')
    line = f'recipe = "{recipe}"\n'
    target = folder / FILE
    target.write_text(text.replace(line, f'{line}model = "{path}"\n'), "utf-8")
    return target
