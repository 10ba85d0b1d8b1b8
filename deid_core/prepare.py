"""Make what a machine keeps for all processes, before the first of them needs it.

    python -m deid_core.prepare [PRESET ...]

Reads a few invented notes with each preset (`hybrid` without any named), so that the
kernels that notes need are compiled and the tables of models and lists are made.  Where
all of it is there, that takes as long as the start of a process.
"""

from __future__ import annotations

import logging
import sys
import time
from datetime import date

from .document import Address, Document, KnownId, KnownIdentifiers, PersonName
from .jit import machine_code
from .labels import Label
from .pipeline import Deidentifier

PRESET = "hybrid"

_RECORD = KnownIdentifiers(
    patient_names=(PersonName("Roe", "Jane", "Quincy"),),
    kin_names=(PersonName("Roe", "John"),),
    provider_names=(PersonName("Müller", "Ada"),),
    birth_dates=(date(1950, 2, 3),),
    addresses=(Address("12 Elm Street", "", "Springfield", "IL", "62704"),),
    phones=("217-555-0143",),
    emails=("jane.roe@example.org",),
    ids=(KnownId("8401127", Label.MEDICALRECORD),),
    facilities=("Elm Grove Hospital",),
    employers=("Elm Grove Bakery",),
)
_TEXTS = (
    """Name: Roe, Jane Q.  MRN: 8401127  DOB: 02/03/1950
Mrs. Roe, a 74-year-old retired teacher of 12 Elm Street, Springfield, IL 62704, was
seen by Dr. Ada Poe at Elm Grove Hospital on March 3, 2024. Her son John, call him at
(217) 555-0143 or jane.roe@example.org, says she fell. Signed by Ada Poe, MD
""",
    "MRS. ROE WAS SEEN AT ELM GROVE HOSPITAL ON 3/4/2024 BY DR. POE. SHE IS WELL.",
    "pt jane roe seen 3/4, dr poe aware; lives w son john in springfield, fluids given",
    "Frau Müller - Señora Núñez, 62 años, vive en Calle Álamo 4, Málaga - seen today.",
    "",
)


def prepare(preset: str) -> str:
    """Make what a preset needs; return what was done."""
    started = time.monotonic()
    before = machine_code()
    deidentifier = Deidentifier.from_names(preset)
    for known in (KnownIdentifiers(), _RECORD):
        deidentifier.deidentify_batch(
            [Document(f"{n}", text, known=known) for n, text in enumerate(_TEXTS)]
        )
    after = machine_code()
    loaded, compiled = after.loaded - before.loaded, after.compiled - before.compiled
    seconds = time.monotonic() - started
    return (
        f"{preset}: {compiled} kernels compiled, {loaded} loaded;"
        f" ready in {seconds:.1f} s"
    )


def main(presets: list[str]) -> None:
    """Prepare presets, and print what was done for each."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s", stream=sys.stdout)
    logging.getLogger(__package__).setLevel(logging.INFO)
    for preset in presets or [PRESET]:
        sys.stdout.write(f"{prepare(preset)}\n")
    if not machine_code().is_kept:
        sys.stderr.write(
            "machine code can't be kept: nothing can be written in this package's"
            " folder or in NUMBA_CACHE_DIR, so each process compiles its own\n"
        )
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
