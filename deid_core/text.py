"""De-identify a text in one call, without a `Document`."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from threading import Lock

from .document import Document
from .field_types import wrong_type
from .pipeline import Deidentifier

_MOST_SYSTEMS = 4
_building = Lock()


def deidentify(
    text: str,
    *,
    preset: str = "hybrid",
    policy: str = "safe-harbor",
    key: bytes | None = None,
) -> str:
    """Return a text with its PHI replaced.

    For many notes, for notes of known patients and for what was replaced where, use
    `Deidentifier`.  The first call builds one and later calls use it again, from any
    thread: it stays until the process ends, with what it caches of texts.

    Args:
        text: A note of its own; surrogates are the same within it alone.
        preset: Detection (`known_presets`).
        policy: Replacement (`known_policies`).
        key: 32 secret bytes or more, for a policy that needs them.

    Raises:
        TypeError: It is no text.
        ConfigError: Preset, policy or key is unknown or wrong.
        DetectorFailed: A detector broke on the text.
        ResidueFound: A value leaked.
        OtherLanguage: It is in a language that is not read.
    """
    if not isinstance(text, str):
        raise wrong_type("deidentify: text", text, str)
    # Its own id, so that no two texts share surrogates and the days that dates move by.
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    document = Document(digest.hexdigest(), text)
    with _building:
        system = _system(preset, policy, key)
    return system.deidentify(document).text


_system = lru_cache(maxsize=_MOST_SYSTEMS)(Deidentifier.from_names)
