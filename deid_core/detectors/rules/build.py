"""Write the prefilters that are derived from the patterns of all rules.

python -m deid_core.detectors.rules.build
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from .engine import RULES
from .prefilter import derive
from .prefilters import FILE, key_of
from .rule import Rule


def write(path: Path, rules: Iterable[Rule]) -> None:
    """Write the derived prefilters of the rules; the same rules give the same bytes."""
    table = {
        key_of(rule.pattern): derive(rule.pattern)
        for rule in rules
        if not rule.triggers
    }
    # A line for each pattern, so that changes can be read.
    rows = (f"{json.dumps(key)}: {json.dumps(table[key])}" for key in sorted(table))
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    write(Path(str(files(__package__))) / FILE, RULES)
